// Resolves `extends:` and `--set`: maps merge by key, choices and lists are replaced whole.
#include "spec/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <unordered_map>

#include "base/error.h"
#include "spec/scalars.h"

namespace mtf {
namespace {

namespace fs = std::filesystem;

// Maps that `extends` replaces whole. What lies inside one of them is replaced with it.
constexpr std::array<std::string_view, 7> replaced_whole = {
    "model", "data", "mesh", "layout", "train.optimizer", "infer.mesh", "infer.layout"};

// At most one byte more than a spec may have, so that the reader of YAML can say it is too long.
std::string read_stream(std::istream& in) {
  std::string text(max_yaml_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

// Throws Failure with the system's reason.
std::string read_file(const std::string& path) {
  std::error_code ignored;
  errno = fs::is_directory(path, ignored) ? EISDIR : 0;
  if (errno == 0) {
    std::ifstream in(path, std::ios::binary);
    if (in)
      return read_stream(in);
  }
  const int error = errno != 0 ? errno : EIO;
  const bool absent = error == ENOENT || error == ENOTDIR || error == EISDIR;
  throw Failure(absent ? Exit::bad_input : Exit::environment,
                fmt::format("cannot read '{}': {}", path, std::strerror(error)));
}

void merge(YamlNode& base, YamlNode over, const std::string& path) {
  bool whole =
      std::find(replaced_whole.begin(), replaced_whole.end(), path) != replaced_whole.end();
  if (whole || !base.is_map() || !over.is_map()) {
    base = std::move(over);
    return;
  }
  std::unordered_map<std::string, size_t> index;
  for (size_t i = 0; i < base.entries.size(); ++i)
    index.emplace(base.entries[i].first.text, i);
  for (auto& [key, value] : over.entries) {
    auto found = index.find(key.text);
    if (found == index.end()) {
      base.entries.emplace_back(std::move(key), std::move(value));
      continue;
    }
    auto& [base_key, base_value] = base.entries[found->second];
    base_key.span = key.span;
    merge(base_value, std::move(value), path.empty() ? key.text : path + "." + key.text);
  }
  base.span = over.span;
}

class Loader {
 public:
  Loader(Sources& sources, Diagnostics& diagnostics)
      : sources_(sources), diagnostics_(diagnostics) {}

  YamlNode load(const std::string& path) {
    bool standard_input = path == "-";
    std::string text = standard_input ? read_stream(std::cin) : read_file(path);
    int file = standard_input ? sources_.add("<stdin>", std::move(text), SourceKind::other)
                              : sources_.add(path, std::move(text));
    YamlNode root = parse_yaml(sources_, file, diagnostics_);
    const YamlNode* extends = root.find("extends");
    if (extends == nullptr || extends->is_null())
      return root;
    std::optional<std::string> base_path = read_text(*extends, "extends", diagnostics_);
    if (!base_path)
      return {};
    chain_.push_back({standard_input ? "<stdin>" : canonical(path), extends->span});
    YamlNode base = load_base(resolve_path(sources_, extends->span, *base_path), extends->span);
    chain_.pop_back();
    if (base.is_null())
      return {};
    std::erase_if(root.entries, [](const auto& entry) { return entry.first.text == "extends"; });
    merge(base, std::move(root), "");
    return base;
  }

 private:
  struct Link {
    std::string path;
    SourceSpan extends;
  };

  static std::string canonical(const std::string& path) {
    std::error_code ignored;
    return fs::weakly_canonical(path, ignored).string();
  }

  YamlNode load_base(const std::string& path, SourceSpan where) {
    std::string target = canonical(path);
    bool cycle = std::any_of(chain_.begin(), chain_.end(),
                             [&](const Link& link) { return link.path == target; });
    if (cycle)
      return fail(fmt::format("'{}' extends itself", path), where);
    try {
      return load(path);
    } catch (const Failure& failure) {
      return fail(failure.what(), where);
    }
  }

  YamlNode fail(std::string message, SourceSpan where) {
    Diagnostic d{Code::spec_extends, std::move(message), where, {}, {}};
    for (auto link = chain_.rbegin() + 1; link < chain_.rend(); ++link)
      d.notes.emplace_back(link->extends, "reached from here");
    diagnostics_.add(std::move(d));
    return {};
  }

  Sources& sources_;
  Diagnostics& diagnostics_;
  std::vector<Link> chain_;  // files being read, with the place of their `extends`
};

YamlNode make_map(SourceSpan span) {
  YamlNode node;
  node.kind = YamlNode::Kind::map;
  node.span = span;
  return node;
}

// Any form of layout → {rules: [{dim: axes}, ...], ...}, the form that overrides work on.
void to_long_form(YamlNode& layout) {
  if (is_long_layout(layout))
    return;
  YamlNode rules = std::move(layout);
  layout = make_map(rules.span);
  if (rules.is_map()) {
    YamlNode list = make_map(rules.span);
    list.kind = YamlNode::Kind::list;
    for (auto& entry : rules.entries) {
      YamlNode item = make_map(entry.first.span);
      item.entries.push_back(std::move(entry));
      list.items.push_back(std::move(item));
    }
    rules = std::move(list);
  }
  if (!rules.is_null())
    layout.entries.emplace_back(YamlNode::Key{"rules", rules.span}, std::move(rules));
}

// Replaces the rules of one dim, at the place of the first, or appends one.
void set_rule(YamlNode& layout, YamlNode::Key dim, YamlNode axes) {
  YamlNode* rules = layout.find("rules");
  if (rules == nullptr || !rules->is_list()) {
    YamlNode list = make_map(dim.span);
    list.kind = YamlNode::Kind::list;
    if (rules == nullptr) {
      layout.entries.emplace_back(YamlNode::Key{"rules", dim.span}, std::move(list));
      rules = &layout.entries.back().second;
    } else {
      *rules = std::move(list);
    }
  }
  bool placed = false;
  for (YamlNode& item : rules->items) {
    std::erase_if(item.entries, [&](auto& entry) {
      if (entry.first.text != dim.text)
        return false;
      if (placed)
        return true;
      entry = {dim, axes};
      placed = true;
      return false;
    });
  }
  if (placed)
    return;
  YamlNode item = make_map(dim.span);
  item.entries.emplace_back(std::move(dim), std::move(axes));
  rules->items.push_back(std::move(item));
}

class OverrideSetter {
 public:
  OverrideSetter(Sources& sources, Diagnostics& diagnostics)
      : sources_(sources), diagnostics_(diagnostics) {}

  void apply(YamlNode& root, const Override& override) {
    int file = sources_.add(fmt::format("command line, argument {}", override.argument),
                            override.text, SourceKind::other);
    size_t equals = override.text.find('=');
    if (equals == std::string::npos || equals == 0) {
      report({file, 1, 1, 1}, "expected KEY=VALUE, such as train.steps=10");
      return;
    }
    std::vector<YamlNode::Key> path = split(override.text.substr(0, equals), file);
    if (path.empty())
      return;
    Diagnostics found;
    YamlNode value = parse_yaml_value(sources_, file, equals + 1, found);
    for (const Diagnostic& d : found.all())
      diagnostics_.add(d);
    if (!found.has_errors())
      set(root, path, std::move(value));
  }

 private:
  void report(SourceSpan where, std::string message) {
    diagnostics_.add({Code::spec_type, std::move(message), where, {}, {}});
  }

  // "a.b.c" → its keys; empty after a diagnostic.
  std::vector<YamlNode::Key> split(const std::string& text, int file) {
    std::vector<YamlNode::Key> path;
    size_t begin = 0;
    while (begin <= text.size()) {
      size_t end = std::min(text.find('.', begin), text.size());
      SourceSpan span{file, 1, static_cast<int>(begin) + 1, static_cast<int>(end - begin)};
      if (begin == end || path.size() == static_cast<size_t>(max_yaml_depth)) {
        report(span, "expected keys with dots between them, such as train.steps");
        return {};
      }
      path.push_back({text.substr(begin, end - begin), span});
      begin = end + 1;
    }
    return path;
  }

  void set(YamlNode& root, const std::vector<YamlNode::Key>& path, YamlNode value) {
    YamlNode* node = &root;
    for (size_t i = 0; i < path.size(); ++i) {
      bool last = i + 1 == path.size();
      bool in_layout =
          (i == 1 || (i == 2 && path[0].text == "infer")) && path[i - 1].text == "layout";
      if (in_layout) {
        to_long_form(*node);
        if (!is_layout_word(path[i].text) && last)
          return set_rule(*node, path[i], std::move(value));
      }
      if (node->is_null())
        *node = make_map(path[i].span);
      if (!node->is_map())
        return report(path[i].span, fmt::format("'{}' is {} here; it has no '{}'", path[i - 1].text,
                                                describe(*node), path[i].text));
      YamlNode* child = node->find(path[i].text);
      if (child == nullptr) {
        node->entries.emplace_back(path[i], YamlNode());
        child = &node->entries.back().second;
      } else if (last) {
        rename_key(*node, path[i]);
      }
      node = child;
    }
    if (value.is_null())
      value.span = path.back().span;
    *node = std::move(value);
  }

  static void rename_key(YamlNode& map, const YamlNode::Key& key) {
    for (auto& [k, value] : map.entries)
      if (k.text == key.text)
        k.span = key.span;
  }

  Sources& sources_;
  Diagnostics& diagnostics_;
};

}  // namespace

YamlNode read_document(Sources& sources, const std::string& path,
                       const std::vector<Override>& overrides, Diagnostics& diagnostics) {
  YamlNode root = Loader(sources, diagnostics).load(path);
  if (root.is_null())
    return root;
  OverrideSetter setter(sources, diagnostics);
  for (const Override& override : overrides)
    setter.apply(root, override);
  return root;
}

std::string resolve_path(const Sources& sources, SourceSpan where, const std::string& path) {
  if (where.file < 0 || fs::path(path).is_absolute())
    return path;
  fs::path directory = fs::path(sources[where.file].name).parent_path();
  return directory.empty() ? path : (directory / path).lexically_normal().string();
}

bool is_replaced_whole(std::string_view path) {
  return std::any_of(replaced_whole.begin(), replaced_whole.end(), [&](std::string_view whole) {
    return path.starts_with(whole) && (path.size() == whole.size() || path[whole.size()] == '.');
  });
}

std::span<const std::string_view> layout_words() {
  static constexpr std::array<std::string_view, 5> words = {"rules", "tensors", "regions", "ops",
                                                            "limits"};
  return words;
}

bool is_layout_word(std::string_view key) {
  const auto words = layout_words();
  return std::find(words.begin(), words.end(), key) != words.end();
}

bool is_long_layout(const YamlNode& layout) {
  return std::any_of(layout.entries.begin(), layout.entries.end(),
                     [](const auto& entry) { return is_layout_word(entry.first.text); });
}

}  // namespace mtf
