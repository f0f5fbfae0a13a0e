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

void print(const YamlNode& node, int indent, std::string& out);

// The value after "key:" or "-": on the same line if it is a scalar or empty, else below.
void print_value(const YamlNode& value, int indent, std::string& out) {
  if (value.is_null())
    out += " null\n";
  else if (value.is_scalar())
    out += ' ' + (value.quoted ? quote(value.text) : value.text) + '\n';
  else if (is_empty(value))
    out += value.is_list() ? " []\n" : " {}\n";
  else {
    out += '\n';
    print(value, indent, out);
  }
}

void print(const YamlNode& node, int indent, std::string& out) {
  std::string margin(static_cast<size_t>(indent), ' ');
  for (const YamlNode& item : node.items) {
    out += margin + '-';
    print_value(item, indent + 2, out);
  }
  for (const auto& [key, value] : node.entries) {
    if (value.is_null())
      continue;
    out += margin + key_text(key.text) + ':';
    print_value(value, indent + 2, out);
  }
}

}  // namespace

std::string print_yaml(const YamlNode& node) {
  std::string out;
  print(node, 0, out);
  return out;
}

}  // namespace mtf
