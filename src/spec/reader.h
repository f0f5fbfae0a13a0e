// YAML → the structs of spec.h, by the descriptions of fields.h. Every key of a map is accounted
// for: unknown ones, missing ones and wrong values are reported in one go, each at its place.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/source.h"
#include "spec/fields.h"

namespace mtf {

class MapReader;

// Reads values by their C++ type. The layout's axes are looked up in the mesh read last.
class Reader {
 public:
  using Key = YamlNode::Key;
  Reader(const Sources& s, Diagnostics& d, Spec& spec) : sources(s), diagnostics(d), spec_(spec) {}

  const Sources& sources;
  Diagnostics& diagnostics;

  const YamlNode& document() const { return spec_.document; }
  void read_all();  // spec.document → spec

  void read(const YamlNode&, const Key&, int64_t&, Range);
  void read(const YamlNode&, const Key&, double&, Range);
  void read(const YamlNode&, const Key&, std::string&, Range = {});
  void read(const YamlNode&, const Key&, std::array<double, 2>&, Range);
  void read(const YamlNode&, const Key&, std::vector<std::string>&, Range = {});
  void read(const YamlNode&, const Key&, YamlNode&, Range = {});
  void read(const YamlNode&, const Key&, NamedPath&, Range = {});
  void read(const YamlNode&, const Key&, std::vector<NamedPath>&, Range = {});
  void read(const YamlNode&, const Key&, std::vector<SyntheticInput>&, Range = {});
  void read(const YamlNode&, const Key&, LearningRate&, Range = {});
  void read(const YamlNode&, const Key&, Blocks&, Range = {});
  void read(const YamlNode&, const Key&, InferSpec&, Range = {});
  void read(const YamlNode&, const Key&, std::vector<DimSpec>&, Range = {});
  void read(const YamlNode&, const Key&, Mesh&, Range = {});
  void read(const YamlNode&, const Key&, LayoutRules&, Range = {});
  void read(const YamlNode&, const Key&, std::vector<LayoutRule>&, Range = {});
  void read(const YamlNode&, const Key&,
            std::vector<std::pair<std::string, std::vector<LayoutRule>>>&, Range = {});

  template <class T>
  void read(const YamlNode& node, const Key& key, std::optional<T>& target, Range range = {}) {
    read(node, key, target.emplace(), range);
  }
  template <class T>  // a struct that fields.h describes
  void read(const YamlNode& node, const Key& key, T& target, Range = {});

  void read_path(const YamlNode&, const Key&, std::string&);
  void read_expression(const YamlNode&, const Key&, std::string& text, SourceSpan& span);
  bool expect_map(const YamlNode&, const Key&);  // false after a diagnostic
  bool expect_name(const Key&, std::string_view what);

 private:
  void read_rule(const Key& dim, const YamlNode& axes, std::vector<LayoutRule>&);
  void read_rule_axis(const YamlNode&, LayoutRule&);
  void start_infer();  // what infer does not say is as in the rest of the spec

  Spec& spec_;
  const Mesh* mesh_ = nullptr;            // that layouts are read against
  std::vector<std::string> absent_axes_;  // of the mesh: of size 1, or with a wrong size
};

// The visitor of fields.h over one map.
class MapReader {
 public:
  MapReader(Reader& reader, const YamlNode& map, std::string title, SourceSpan at)
      : reader_(reader), map_(map), title_(std::move(title)), at_(at) {}

  template <class T>
  void field(std::string_view key, T& target, std::string_view, Range range = {}) {
    if (const Entry* entry = take(key))
      reader_.read(entry->second, entry->first, target, range);
  }
  template <class T>
  void required(std::string_view key, T& target, std::string_view summary, Range range = {}) {
    required_.emplace_back(key);
    field(key, target, summary, range);
  }
  template <class E, size_t n>
  void word(std::string_view key, E& target, std::string_view, const Word<E> (&words)[n]) {
    const Entry* entry = take(key);
    if (entry == nullptr)
      return;
    std::vector<std::string> allowed;
    for (const Word<E>& w : words) {
      allowed.emplace_back(w.text);
      if (entry->second.is_scalar() && entry->second.text == w.text) {
        target = w.value;
        return;
      }
    }
    report_word(entry->second, key, allowed, reader_.diagnostics);
  }
  template <class Integer>  // int64_t, or an optional one
  void bytes(std::string_view key, Integer& target, std::string_view) {
    if (const Entry* entry = take(key))
      if (auto size = read_bytes(entry->second, key, reader_.diagnostics))
        target = *size;
  }
  void path(std::string_view key, std::string& target, std::string_view);
  void paths(std::string_view key, std::vector<std::string>& target, std::string_view);
  void name_or_path(std::string_view key, std::string& target, std::string_view);
  void expression(std::string_view key, std::string& text, SourceSpan& span, std::string_view);
  void group(std::string_view key, std::string_view, const std::function<void(MapReader&)>& inner);
  void alternative(std::string_view key, const std::function<void()>& choose);
  void later(std::string_view key);

  void finish();  // reports what is unknown, missing or one too many

 private:
  using Entry = YamlNode::Entry;

  const Entry* take(std::string_view key);  // null if absent or null
  void report_unknown(const Entry&);
  void report_missing(const std::string& needed);
  void check_alternatives();

  Reader& reader_;
  const YamlNode& map_;
  std::string title_;
  SourceSpan at_;
  std::vector<std::string> known_, required_, alternatives_;
  std::vector<const Entry*> chosen_;    // alternatives that are given
  std::vector<std::string> suspected_;  // what unknown keys were probably meant to be
  bool later_given_ = false;
};

template <class T>
void Reader::read(const YamlNode& node, const Key& key, T& target, Range) {
  if (!expect_map(node, key))
    return;
  MapReader map(*this, node, key.text, key.span);
  fields(map, target);
  map.finish();
}

}  // namespace mtf
