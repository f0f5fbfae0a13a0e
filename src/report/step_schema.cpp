// What stands inside of `steps`, from the op table; and the options of the library's models.
#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "model/library.h"
#include "ops/op.h"
#include "report/schema.h"
#include "report/schema_parts.h"
#include "spec/scalars.h"
#include "spec/yaml.h"

namespace mtf {
namespace {

using Json = nlohmann::ordered_json;

Json attribute_value(const AttrDef& a) {
  switch (a.kind) {
    case AttrKind::boolean:
      return or_option(of_type("boolean"));
    case AttrKind::integer:
      return or_option(number("integer", a.range));
    case AttrKind::number:
      return or_option(number("number", a.range));
    case AttrKind::word:
      return or_option(Json{{"enum", a.words}});
    case AttrKind::text:
    case AttrKind::dim:
      return of_type("string");
    case AttrKind::dims:
      return defined("dim_names");
    case AttrKind::dim_map:
      return or_option(map_of(of_type("string")));
    case AttrKind::dtype:
      return or_option(Json{{"enum", {"f32", "f64", "bf16", "i32", "u8", "bool"}}});
  }
  return true;
}

void add_unique(Json& list, const Json& value) {
  if (std::find(list.begin(), list.end(), value) == list.end())
    list.push_back(value);
}

// A word of a step: several ops may have an attribute of one name, and an op may have it too.
void add_word(Json& words, std::string_view name, const std::string& description, Json value) {
  Json& word = words[std::string(name)];
  if (word.is_null())
    word = {{"title", name}, {"description", description}, {"anyOf", Json::array()}};
  else if (word["description"].get<std::string>().find(description) == std::string::npos)
    word["description"] =
        fmt::format("{}\n{}", word["description"].get<std::string>(), description);
  add_unique(word["anyOf"], std::move(value));
}

std::string operand_count(const OpDef& op) {
  if (op.max_operands < 0)
    return fmt::format("{} or more operands", op.min_operands);
  if (op.min_operands != op.max_operands)
    return fmt::format("{} to {} operands", op.min_operands, op.max_operands);
  return fmt::format("{} operand{}", op.min_operands, op.min_operands == 1 ? "" : "s");
}

// The text behind the # on a line, which in library files says what an option may be.
std::string comment_on(std::string_view text, int line) {
  for (int i = 1; i < line; ++i)
    text.remove_prefix(text.find('\n') + 1);
  text = text.substr(0, text.find('\n'));
  const size_t mark = text.find("# ");
  return mark == std::string_view::npos ? "" : std::string(text.substr(mark + 2));
}

// What may stand beside an op or a repeat: its attributes, or keys that options stand for.
Json beside(const std::string& head, Json attributes, Json required) {
  Json names = Json::array({head});
  for (const auto& [name, value] : attributes.items())
    names.push_back(name);
  Json rules = {{"propertyNames", any_of(Json{{"enum", names}}, Json{{"pattern", "\\$"}})}};
  if (!attributes.empty())
    rules["properties"] = std::move(attributes);
  if (!required.empty())
    rules["required"] = std::move(required);
  return {{"if", {{"required", {head}}}}, {"then", rules}};
}

Json beside(const OpDef& op) {
  Json attributes = Json::object(), required = Json::array();
  for (const AttrDef& a : op.attributes) {
    attributes[std::string(a.name)] = or_null(attribute_value(a));
    if (a.required)
      required.push_back(a.name);
  }
  return beside(std::string(op.name), attributes, required);
}

// A step of nothing but words of attributes calls a block of such a name. In all others their
// values are those of `words`, which then takes operands there.
Json attributes_unless_blocks(Json& words) {
  std::set<std::string> names = {"times", "from"};
  for (const OpDef* op : all_ops())
    for (const AttrDef& a : op->attributes)
      if (!op->internal)
        names.emplace(a.name);
  Json values = Json::object();
  for (const std::string& name : names) {
    values[name] = {{"anyOf", words[name]["anyOf"]}};
    add_unique(words[name]["anyOf"], defined("operands"));
  }
  names.insert("with");
  return {{"if", {{"propertyNames", {{"enum", names}}}}}, {"else", {{"properties", values}}}};
}

bool is_attribute(std::string_view word) {
  for (const OpDef* op : all_ops())
    for (const AttrDef& a : op->attributes)
      if (a.name == word)
        return true;
  return false;
}

Json default_of(const YamlNode& node) {
  if (!node.is_scalar())
    return nullptr;
  return node.quoted || !reads_as_number(node.text) ? Json(node.text) : Json::parse(node.text);
}

}  // namespace

void define_steps(Json& definitions) {
  definitions["operands"] = or_null(defined("dim_names"));
  definitions["operands"]["description"] = "names of values: one, or a list";
  Json words = Json::object();
  for (const OpDef* op : all_ops())
    if (!op->internal)
      add_word(words, op->name, fmt::format("{} ({})", op->summary, operand_count(*op)),
               defined("operands"));
  add_word(words, "repeat", "a block, copied `times` times", of_type("string"));
  add_word(words, "times", "copies of a repeat: a dim or an integer",
           any_of(Json{{"type", "string"}, {"pattern", "^[A-Za-z_$]"}},
                  Json{{"type", "integer"}, {"minimum", 1}}));
  add_word(words, "from", "what a repeat starts with; the others of a list are constant",
           defined("operands"));
  add_word(words, "pass", "its first operand as it is", defined("operands"));
  add_word(words, "with", "options of a block", or_null(of_type("object")));
  for (const OpDef* op : all_ops())
    for (const AttrDef& a : op->attributes)
      if (!op->internal)
        add_word(words, a.name, fmt::format("{}: {}", op->name, a.summary),
                 or_null(attribute_value(a)));
  Json conditions = Json::array();
  conditions.push_back(beside("repeat", {{"times", true}, {"from", true}, {"with", true}},
                              Json::array({"times", "from"})));
  for (const OpDef* op : all_ops())
    if (!op->internal && !is_attribute(op->name))  // such a word may be either
      conditions.push_back(beside(*op));
  conditions.push_back(beside("pass", Json::object(), Json::array()));
  conditions.push_back(attributes_unless_blocks(words));
  definitions["step"] = {
      {"description", "an op or a block with its operands, and the op's attributes"},
      {"type", "object"},
      {"minProperties", 1},
      {"properties", words},
      {"additionalProperties", true},
      {"allOf", conditions}};  // blocks, names of `choose`, options
  Json step = map_of(defined("step"));
  step["minProperties"] = step["maxProperties"] = 1;
  definitions["steps"] = list_of(or_option(step));
}

Json library_options() {
  Json conditions = Json::array();
  for (const std::string& name : library_names()) {
    Sources sources;
    Diagnostics none;
    const std::string text(*library_text(name));
    const YamlNode root = parse_yaml(sources, sources.add(name, text), none);
    if (root.find("takes"))  // a layer
      continue;
    Json options = Json::object();
    if (const YamlNode* with = root.find("with"))
      for (const auto& [key, value] : with->entries)
        options[key.text] = {{"title", name + "." + key.text},
                             {"description", comment_on(text, key.span.line)},
                             {"default", default_of(value)}};
    conditions.push_back(
        {{"if", {{"properties", {{"use", {{"const", name}}}}}}},
         {"then",
          {{"properties",
            {{"with", {{"properties", options}, {"additionalProperties", false}}}}}}}});
  }
  return conditions;
}

}  // namespace mtf
