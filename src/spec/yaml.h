// YAML text as a tree that keeps the place of every key and value. The only user of yaml-cpp is
// yaml.cpp; it refuses what specs do not use (aliases, merge keys, several documents, ...).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/source.h"

namespace mtf {

struct YamlNode {
  enum class Kind : uint8_t { null, scalar, list, map };
  struct Key {
    std::string text;
    SourceSpan span;
  };

  Kind kind = Kind::null;
  SourceSpan span;
  std::string text;      // of a scalar
  bool quoted = false;   // a quoted scalar is a string whatever it looks like
  std::vector<YamlNode> items;                     // of a list
  std::vector<std::pair<Key, YamlNode>> entries;   // of a map, in the order written

  bool is_map() const { return kind == Kind::map; }
  bool is_list() const { return kind == Kind::list; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_null() const { return kind == Kind::null; }
  const YamlNode* find(std::string_view key) const;
  YamlNode* find(std::string_view key);
};

// Parses sources[file]. Every mistake becomes a diagnostic; the result is then the null node.
YamlNode parse_yaml(const Sources& sources, int file, Diagnostics& diagnostics);

}  // namespace mtf
