#include "model/options.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "base/text.h"
#include "spec/later.h"

namespace mtf {
namespace {

std::vector<std::string> keys_of(const YamlNode& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map.entries)
    keys.push_back(key.text);
  return keys;
}

// Null is as if it were not written.
void merge(YamlNode& into, const YamlNode& given) {
  if (given.is_null())
    return;
  if (!into.is_map() || !given.is_map()) {
    into = given;
    return;
  }
  for (const auto& [key, value] : given.entries) {
    if (YamlNode* there = into.find(key.text))
      merge(*there, value);
    else
      into.entries.emplace_back(key, value);
  }
}

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

constexpr size_t most_items = 4096;  // of a list: options that hold options may multiply

class Expander {
 public:
  Expander(const YamlNode& options, Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics) {}

  std::set<std::string, std::less<>> used;

  YamlNode expand(const YamlNode& node) {
    if (node.is_scalar())
      return expand_scalar(node);
    YamlNode out;
    out.kind = node.kind;
    out.span = node.span;
    for (const YamlNode& item : node.items) {
      if (out.items.size() > most_items) {
        diagnostics_.add({Code::spec_range,
                          fmt::format("options make this a list of more than {} items", most_items),
                          node.span,
                          {},
                          {}});
        return out;
      }
      YamlNode value = expand(item);
      if (starts_option(item) && value.is_list())
        out.items.insert(out.items.end(), value.items.begin(), value.items.end());
      else
        out.items.push_back(std::move(value));
    }
    out.entries.reserve(node.entries.size());
    for (const auto& [key, value] : node.entries) {
      YamlNode::Key name = key;
      expand_key(name);
      out.entries.emplace_back(std::move(name), expand(value));
    }
    return out;
  }

 private:
  static bool starts_option(const YamlNode& n) { return n.is_scalar() && n.text.starts_with('$'); }

  // The end of the option's name that starts at `begin`, which is behind a `$`.
  static size_t name_end(std::string_view text, size_t begin) {
    size_t end = begin;
    while (end < text.size() &&
           (is_name_char(text[end]) ||
            (text[end] == '.' && end + 1 < text.size() && is_name_char(text[end + 1]))))
      ++end;
    return end;
  }

  YamlNode expand_scalar(const YamlNode& node) {
    if (node.quoted || node.text.find('$') == std::string::npos)
      return node;
    if (node.text[0] == '$' && name_end(node.text, 1) == node.text.size()) {
      const YamlNode* value = find(std::string_view(node.text).substr(1), node.span);
      return value ? *value : node;
    }
    YamlNode out = node;
    out.text = expand_text(node.text, node.span);
    return out;
  }

  // A key that is an option comes from where the option was given: mistakes point there.
  void expand_key(YamlNode::Key& key) {
    const bool whole = key.text.starts_with('$') && name_end(key.text, 1) == key.text.size();
    const YamlNode* value = whole ? find(std::string_view(key.text).substr(1), key.span) : nullptr;
    if (value && value->is_scalar())
      key = {value->text, value->span};
    else if (!whole || value)
      key.text = expand_text(key.text, key.span);
  }

  std::string expand_text(const std::string& text, SourceSpan span) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
      if (text[i] != '$') {
        out += text[i++];
        continue;
      }
      size_t end = name_end(text, i + 1);
      const YamlNode* value = find(std::string_view(text).substr(i + 1, end - i - 1), span);
      if (value && !value->is_scalar())
        diagnostics_.add(
            {Code::spec_type,
             fmt::format("option '{}' stands within a text here and must be a single word or "
                         "number",
                         text.substr(i + 1, end - i - 1)),
             value->span,
             {},
             {}});
      out += value && value->is_scalar() ? value->text : text.substr(i, end - i);
      i = end;
    }
    return out;
  }

  const YamlNode* find(std::string_view path, SourceSpan span) {
    const YamlNode* node = &options_;
    std::string_view rest = path;
    used.emplace(path.substr(0, path.find('.')));
    while (!rest.empty()) {
      const std::string_view before = path.substr(0, path.size() - rest.size());
      std::string_view name = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      const YamlNode* next = node->find(name);
      if (!next) {
        std::vector<std::string> known;
        for (const std::string& key : keys_of(*node))
          known.push_back(fmt::format("${}{}", before, key));
        const Help help =
            suggest(fmt::format("${}", path), span, known, known.empty() ? "" : there_are(known));
        diagnostics_.add({Code::model_unknown_name,
                          fmt::format("no option '{}' is declared in `with:` here", path),
                          span,
                          {},
                          help});
        if (help.edits.empty())
          return nullptr;
        next = node->find(std::string_view(help.edits[0].text).substr(before.size() + 1));
      }
      node = next;
    }
    return node;
  }

  const YamlNode& options_;
  Diagnostics& diagnostics_;
};

}  // namespace

YamlNode merged_options(const YamlNode* defaults, const YamlNode* given, const std::string& whose,
                        Diagnostics& diagnostics) {
  YamlNode options;
  options.kind = YamlNode::Kind::map;
  if (defaults && defaults->is_map())
    options = *defaults;
  if (!given || given->is_null())
    return options;
  if (!given->is_map()) {
    diagnostics.add({Code::spec_type, "`with:` is a map of options", given->span, {}, {}});
    return options;
  }
  for (const auto& [key, value] : given->entries) {
    if (YamlNode* option = options.find(key.text)) {
      merge(*option, value);
      continue;
    }
    if (comes_later(key.text)) {
      diagnostics.add(not_yet(key.text, key.span));
      continue;
    }
    const std::vector<std::string> known = keys_of(options);
    const Help help = suggest(key.text, key.span, known,
                              known.empty() ? "it has none" : "its options are " + listed(known));
    diagnostics.add({Code::model_unknown_name,
                     fmt::format("{} has no option '{}'", whose, key.text),
                     key.span,
                     {},
                     help});
    if (YamlNode* meant = options.find(help.meant()))
      merge(*meant, value);
  }
  return options;
}

YamlNode expanded(const YamlNode& body, const YamlNode& options, Diagnostics& diagnostics,
                  std::set<std::string, std::less<>>* used) {
  Expander expander(options, diagnostics);
  YamlNode out = expander.expand(body);
  if (used)
    *used = std::move(expander.used);
  return out;
}

}  // namespace mtf
