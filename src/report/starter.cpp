#include "report/starter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/embedded.h"
#include "spec/language.h"
#include "spec/yaml.h"

namespace mtf {

std::span<const EmbeddedFile> starter_files();

namespace {

constexpr size_t widest_column = 40;  // of keys and values, before the comments

struct Line {
  std::string text, comment;
};

class StarterWriter {
 public:
  std::vector<Line> lines;

  // Writes the described map: its keys, then those left out, as comments.
  void write(const YamlNode& map, const KeyTable& table, int indent) {
    const std::string margin(static_cast<size_t>(indent), ' ');
    for (const auto& [key, value] : map.entries) {
      const KeyRow* row = table.find(key.text);
      const std::string summary = row ? std::string(row->summary) : "";
      const bool described = row && row->table && row->table->entry.empty() && value.is_map();
      if (described) {
        lines.push_back({margin + key.text + ':', summary});
        write(value, *row->table, indent + 2);
      } else {
        write_plain(key, value, indent, summary);
      }
    }
    const bool chosen = std::any_of(map.entries.begin(), map.entries.end(), [&](const auto& e) {
      const KeyRow* row = table.find(e.first.text);
      return row && row->one_of;
    });
    const bool from_library = map.find("use") != nullptr;  // takes the place of all other keys
    for (const KeyRow& row : table.rows)
      if (!map.find(row.name) && !from_library)
        lines.push_back({fmt::format("{}# {}: {}", margin, row.name, row.initial),
                         (row.one_of && chosen ? "instead: " : "") + std::string(row.summary)});
  }

 private:
  // A key as print_yaml writes it, with its comment on the first line.
  void write_plain(const YamlNode::Key& key, const YamlNode& value, int indent,
                   const std::string& summary) {
    YamlNode map;
    map.kind = YamlNode::Kind::map;
    map.entries.emplace_back(key, value);
    std::string comment = summary;
    for (const YamlLine& line : yaml_lines(map)) {
      lines.push_back({std::string(static_cast<size_t>(indent), ' ') + line.text, comment});
      comment.clear();
    }
  }
};

}  // namespace

std::vector<std::string> starter_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : starter_files())
    names.emplace_back(file.name);
  return names;
}

std::optional<std::string> starter_text(std::string_view starter, std::string_view name) {
  for (const EmbeddedFile& file : starter_files()) {
    if (file.name != starter)
      continue;
    Sources sources;
    Diagnostics none;
    YamlNode spec =
        parse_yaml(sources, sources.add(std::string(file.name), std::string(file.text)), none);
    spec.find("name")->text = name;
    StarterWriter writer;
    writer.write(spec, language().front(), 0);
    size_t width = 0;
    for (const Line& line : writer.lines)
      if (!line.comment.empty())
        width = std::max(width, std::min(line.text.size(), widest_column));
    std::string out(file.text.substr(0, file.text.find('\n') + 1));
    for (const Line& line : writer.lines)
      out += line.comment.empty() ? line.text + '\n'
                                  : fmt::format("{:<{}}  # {}\n", line.text, width, line.comment);
    return out;
  }
  return std::nullopt;
}

}  // namespace mtf
