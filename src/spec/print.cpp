// YamlNode → block YAML: what `mtf config` shows of the resolved spec.
#include <fmt/format.h>

#include <algorithm>

#include "spec/yaml.h"

namespace mtf {
namespace {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

// Keys do not remember their quotes; those of plain words need none.
std::string key_text(std::string_view key) {
  auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !key.empty() && std::all_of(key.begin(), key.end(), plain) ? std::string(key) : quote(key);
}

bool is_empty(const YamlNode& node) {
  return node.items.empty() &&
         std::all_of(node.entries.begin(), node.entries.end(),
                     [](const auto& entry) { return entry.second.is_null(); });
}

class LinePrinter {
 public:
  std::vector<YamlLine> lines;

  void print(const YamlNode& node, int indent) {
    const std::string margin(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < node.items.size(); ++i) {
      path_.push_back(fmt::format("[{}]", i));
      const size_t first = lines.size();
      if (node.items[i].is_map() && !is_empty(node.items[i])) {
        print(node.items[i], indent + 2);
        lines[first].text[static_cast<size_t>(indent)] = '-';
      } else {
        print_value(margin + '-', node.items[i], indent + 2);
      }
      path_.pop_back();
    }
    for (const auto& [key, value] : node.entries) {
      if (value.is_null())
        continue;
      path_.push_back(key.text);
      print_value(margin + key_text(key.text) + ':', value, indent + 2);
      path_.pop_back();
    }
  }

 private:
  // After "key:" or "-": on the same line if the value is a scalar or empty, else below.
  void print_value(std::string head, const YamlNode& value, int indent) {
    const bool here = !value.is_map() && !value.is_list();
    if (value.is_null())
      head += " null";
    else if (here)
      head += ' ' + (value.quoted ? quote(value.text) : value.text);
    else if (is_empty(value))
      head += value.is_list() ? " []" : " {}";
    lines.push_back({std::move(head), path_, &value});
    if (!here && !is_empty(value))
      print(value, indent);
  }

  std::vector<std::string> path_;
};

}  // namespace

std::vector<YamlLine> yaml_lines(const YamlNode& node) {
  LinePrinter printer;
  printer.print(node, 0);
  return std::move(printer.lines);
}

std::string print_yaml(const YamlNode& node) {
  std::string out;
  for (const YamlLine& line : yaml_lines(node))
    out += line.text + '\n';
  return out;
}

}  // namespace mtf
