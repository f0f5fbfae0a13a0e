// The keys of a spec as the tables of docs/LANGUAGE.md. Every table is a map of the language; a key
// that holds a map names its table.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "spec/language.h"

namespace mtf {
namespace {

std::string words_of(const KeyRow& row) {
  std::string list;
  for (std::string_view word : row.words)
    list += fmt::format("{}`{}`", list.empty() ? "" : ", ", word);
  return list;
}

std::string value_of(const KeyRow& row) {
  const std::string title = row.table ? fmt::format("*{}*", row.table->title) : "";
  switch (row.form) {
    case Form::boolean:
      return "true or false";
    case Form::integer:
      return "integer";
    case Form::number:
      return "number";
    case Form::two_numbers:
      return "two numbers";
    case Form::rate:
      return "number, or map, table " + title;
    case Form::text:
      return "text";
    case Form::texts:
      return "text, or a list of it";
    case Form::word:
      return words_of(row);
    case Form::bytes:
      return "size such as 2GiB";
    case Form::path:
      return "path";
    case Form::paths:
      return "path, or a list of paths";
    case Form::name_or_path:
      return "name or path";
    case Form::size:
      return "size";
    case Form::keys:
    case Form::model:
      return "map, table " + title;
    case Form::dims:
      return "map of dims to sizes, or to " + title;
    case Form::mesh:
      return "map of axes to sizes";
    case Form::named_paths:
      return "map of names to paths";
    case Form::named_keys:
      return "map of names to " + title;
    case Form::rules:
      return "layout rules";
    case Form::tensor_rules:
      return "map of path patterns to layout rules";
    case Form::layout:
      return "layout rules, or map, table " + title;
    case Form::block_counts:
      return "power of two, or map of dims to integers";
    case Form::options:
      return "map of options";
    case Form::dim_names:
      return "a dim, or a list of dims";
    case Form::fan_pair:
      return "a list of two: dims in, dims out";
    case Form::tensors:
      return "map of names to dims, or to " + title;
    case Form::choices:
      return "map of names to choices";
    case Form::steps:
      return "list of steps";
    case Form::value:
      return "name of a value";
    case Form::values:
      return "name, or a list of names";
    case Form::named_value:
      return "map of names to names of values";
    case Form::results:
      return "name, or map of names to names";
  }
  return "";
}

std::string text_of(const KeyTable& table) {
  std::string out = fmt::format(
      "#### {}\n\n| key | value | default | meaning |\n|---|---|---|---|\n", table.title);
  for (const KeyRow& row : table.rows) {
    std::string value = value_of(row);
    if (const std::string limits = row.range.text(); !limits.empty())
      value += ", " + limits;
    out += fmt::format("| `{}` | {}{}{} | {} | {} |\n", row.name, value,
                       row.required ? ", required" : "", row.one_of ? " (one of)" : "",
                       row.initial.empty() ? "" : "`" + row.initial + "`", row.summary);
  }
  if (!table.later.empty()) {
    out += "\nNot yet, and refused:";
    for (std::string_view key : table.later)
      out += fmt::format(" `{}`", key);
    out += "\n";
  }
  return out + "\n";
}

}  // namespace
}  // namespace mtf

int main() {
  for (const mtf::KeyTable& table : mtf::language())
    std::fputs(mtf::text_of(table).c_str(), stdout);
  return 0;
}
