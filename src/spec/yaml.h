// YAML text as a tree that keeps the place of every key and value. The only user of yaml-cpp is
// yaml.cpp; it refuses what specs do not use (aliases, merge keys, tags, several documents, ...).
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
  struct Entry;

  Kind kind = Kind::null;
  SourceSpan
      span;  // of a scalar as written; of a list or map its opening; of an absent value its key
  std::string text;             // of a scalar
  bool quoted = false;          // a quoted scalar is a string whatever it looks like
  std::vector<YamlNode> items;  // of a list
  std::vector<Entry> entries;   // of a map, in the order written

  bool is_map() const { return kind == Kind::map; }
  bool is_list() const { return kind == Kind::list; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_null() const { return kind == Kind::null; }
  const YamlNode* find(std::string_view key) const;  // null if absent or no map; linear
  YamlNode* find(std::string_view key);
  const YamlNode* at(std::string_view path) const;  // dotted keys, down from here; null if absent
};

// No std::pair, which cannot be named before the node is complete.
struct YamlNode::Entry {
  Entry(Key key, YamlNode value) : first(std::move(key)), second(std::move(value)) {}
  Key first;
  YamlNode second;
};

constexpr size_t max_yaml_bytes = size_t{1} << 20;
constexpr int max_yaml_depth = 32;

// Parses sources[file], whose root must be a map. Every mistake becomes a diagnostic. After one the
// result is the null node, except that the second of two equal keys is dropped, and that reading
// goes on where it is plain what was meant: a blank after a colon, a bracket at the end of a line.
YamlNode parse_yaml(const Sources& sources, int file, Diagnostics& diagnostics);

// The same for the text from byte `offset` on, of any kind: the right side of a `--set`.
YamlNode parse_yaml_value(const Sources& sources, int file, size_t offset,
                          Diagnostics& diagnostics);

// One line of printed YAML, and the value that begins or stands on it.
struct YamlLine {
  std::string text;               // without the line's end
  std::vector<std::string> path;  // keys, and "[i]" in lists, from the root
  const YamlNode* value;
};

// Block YAML that parses to the same tree. Null entries of maps are left out: they are absent.
std::vector<YamlLine> yaml_lines(const YamlNode& node);
std::string print_yaml(const YamlNode& node);

}  // namespace mtf
