#include "report/resolved_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/diagnostics_text.h"
#include "spec/document.h"
#include "spec/language.h"

namespace mtf {
namespace {

constexpr size_t widest_column = 60;  // of values, before their origins

void resolve(YamlNode& path, const Sources& sources) {
  for (YamlNode& item : path.items)
    resolve(item, sources);
  for (auto& [key, value] : path.entries)
    resolve(value, sources);
  if (path.is_scalar())
    path.text = resolve_path(sources, path.span, path.text);
}

bool is_shipped_name(const YamlNode& node) {
  return node.is_scalar() && node.text.find_first_of("./") == std::string::npos;
}

bool names_files(const KeyRow& row, const YamlNode& value) {
  return row.form == Form::path || row.form == Form::paths || row.form == Form::named_paths ||
         (row.form == Form::name_or_path && !is_shipped_name(value));
}

// Adds defaults to the map of a table and to the described maps in it; makes paths relative to the
// working directory.
void complete(YamlNode& map, const KeyTable& table, const Sources& sources) {
  for (const KeyRow& row : table.rows) {
    YamlNode* value = map.find(row.name);
    if (value == nullptr || value->is_null()) {
      if (row.initial.empty() || row.one_of)
        continue;
      YamlNode initial;
      initial.kind = YamlNode::Kind::scalar;
      initial.text = row.initial;
      std::erase_if(map.entries, [&](const auto& entry) { return entry.first.text == row.name; });
      map.entries.emplace_back(YamlNode::Key{std::string(row.name), {}}, std::move(initial));
    } else if (names_files(row, *value)) {
      resolve(*value, sources);
    } else if (row.table != nullptr && !row.table->entry.empty()) {
      for (auto& [key, entry] : value->entries)
        if (entry.is_map())
          complete(entry, *row.table, sources);
    } else if (row.table != nullptr && value->is_map()) {
      complete(*value, *row.table, sources);
    }
  }
}

std::string origin(const YamlNode& value, const Sources& sources) {
  if (value.span.file < 0)
    return "default";
  const std::string name = printable(sources[value.span.file].name);
  return name.starts_with("command line") ? name : fmt::format("{}:{}", name, value.span.line);
}

}  // namespace

std::string resolved_text(const Spec& spec, const Sources& sources) {
  YamlNode document = spec.document;
  complete(document, language().front(), sources);
  const std::vector<YamlLine> lines = yaml_lines(document);
  size_t width = 0;
  for (const YamlLine& line : lines)
    width = std::max(width, std::min(line.text.size(), widest_column));
  std::string out;
  for (const YamlLine& line : lines) {
    const bool opens = line.text.ends_with(':') || line.text.ends_with('-');
    out += opens ? line.text + '\n'
                 : fmt::format("{:<{}}  # {}\n", line.text, width, origin(*line.value, sources));
  }
  return out;
}

}  // namespace mtf
