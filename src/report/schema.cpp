#include "report/schema.h"

#include <fmt/format.h>

#include <set>

#include "model/files.h"
#include "report/schema_parts.h"
#include "spec/document.h"
#include "spec/language.h"

namespace mtf {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view name_pattern = "^[A-Za-z_][A-Za-z0-9_]*$";
constexpr std::string_view axis_pattern = "^[A-Za-z_][A-Za-z0-9_]*\\??$";
constexpr std::string_view size_pattern = "^[A-Za-z0-9_ $.+*/()-]+$";
constexpr std::string_view bytes_pattern =
    "^(0|[1-9][0-9]*)(\\.[0-9]+)? *(B|KiB|MiB|GiB|TiB|KB|MB|GB|TB)$";

constexpr std::string_view number_pattern =
    "^(true|false|-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?)$";

Json pattern(std::string_view expression) {
  return {{"type", "string"}, {"pattern", expression}};
}

// A map whose keys are names.
Json named(Json value) {
  Json schema = map_of(std::move(value));
  schema["propertyNames"] = {{"pattern", name_pattern}};
  return schema;
}

// An expression; a number in quotes is a slip.
Json size_text() {
  Json schema = pattern(size_pattern);
  schema["not"] = {{"pattern", number_pattern}};
  return schema;
}

Json block_counts() {
  Json powers = Json::array();
  for (int64_t n = 8; n <= 1 << 20; n *= 2)
    powers.push_back(n);
  return any_of(Json{{"enum", powers}}, map_of(or_null(number("integer", between(1, 1 << 20)))));
}

// A map whose keys hide nothing that a step knows.
Json of_own_names(Json map) {
  map["propertyNames"] = {{"not", {{"enum", Json(step_words())}}}};
  return map;
}

// Rules as a map or a list of maps from dims to axes. `reserved`: the words of a layout are no
// dims.
Json layout_rules(bool reserved) {
  Json map = named(or_null(defined("axes")));
  if (reserved)
    map["propertyNames"]["not"] = {{"enum", Json(layout_words())}};
  return any_of(map, list_of(named(or_null(defined("axes")))));
}

class SchemaWriter {
 public:
  Json spec() {
    mark_merged_keys();
    Json schema = begun("mtf spec", "A model, its training and its layout on a mesh.");
    definitions_["axes"] = any_of(pattern(axis_pattern), list_of(pattern(axis_pattern)));
    definitions_["rules"] = layout_rules(false);
    schema.update(table(language().front()));
    schema["if"] = {{"properties", {{"extends", of_type("string")}}}, {"required", {"extends"}}};
    schema["else"] = complete();
    schema["definitions"] = definitions_;
    return schema;
  }

  // A file with `takes` is a layer: a block that brings the blocks it uses. Others are models.
  Json library_file() {
    Json schema = begun("mtf library file", "A model, or a layer of models.");
    KeyTable model = key_table("model"), layer = key_table("model.blocks.BLOCK");
    layer.rows.push_back(*model.find("blocks"));
    model.rows.erase(model.rows.begin() + (model.find("use") - model.rows.data()));
    schema["type"] = "object";
    schema["if"] = {{"required", {"takes"}}};
    schema["then"] = table(layer);
    schema["else"] = table(model);
    schema["definitions"] = definitions_;
    return schema;
  }

 private:
  // The head, and the definitions that models need.
  Json begun(std::string_view title, std::string_view description) {
    definitions_["option"] = {{"description", "an option of the block: `$name`, or `$name.key`"},
                              {"type", "string"},
                              {"pattern", "^\\$[A-Za-z0-9_.]+$"}};
    definitions_["size"] = any_of(number("integer", at_least(1)), size_text());
    definitions_["dim_names"] = any_of(of_type("string"), list_of(of_type("string")));
    define_steps(definitions_);
    return {{"$schema", "http://json-schema.org/draft-07/schema#"},
            {"title", title},
            {"description", description}};
  }

  // Training needs data.
  Json complete() const {
    Json schema = complete_;
    schema["if"] = {{"required", {"train"}}, {"properties", {{"train", of_type("object")}}}};
    schema["then"] = {{"required", {"data"}}, {"properties", {{"data", of_type("object")}}}};
    return schema;
  }

  // What a file must hold may come from the file that it extends, unless that part is replaced
  // whole: such keys are asked for only where nothing is extended.
  void mark_merged_keys() {
    for_each_key([&](const std::string& path, const KeyRow& row) {
      const size_t last = path.rfind('.');
      const std::string map = last == std::string::npos ? "" : path.substr(0, last);
      if (!row.required || is_replaced_whole(map))
        return;
      merged_.insert(&row);
      Json* at = &complete_;
      size_t begin = 0;
      for (size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1)
        at = &(*at)["properties"][path.substr(begin, dot - begin)];
      (*at)["required"].push_back(path.substr(begin));
    });
  }

  Json table(const KeyTable& table) {
    Json schema = {{"type", "object"}, {"properties", Json::object()}};
    Json needed = Json::array(), alternatives = Json::array();
    for (const KeyRow& row : table.rows) {
      const std::string name(row.name);
      schema["properties"][name] = key(table, row);
      if (row.required && !merged_.contains(&row))
        needed.push_back(name);
      if (row.one_of)
        alternatives.push_back(
            {{"required", {name}}, {"properties", {{name, {{"not", of_type("null")}}}}}});
    }
    schema["additionalProperties"] = false;
    if (table.find("use"))
      describe_use(schema);
    else if (!needed.empty())
      schema["required"] = needed;
    if (!alternatives.empty())
      schema["oneOf"] = alternatives;
    return schema;
  }

  // A model of the library, or one that is written out.
  void describe_use(Json& schema) {
    Json options = library_options();
    Json uses = Json::array();
    for (const Json& condition : options)
      uses.push_back(condition["if"]["properties"]["use"]["const"]);
    schema["properties"]["use"].erase("type");
    schema["properties"]["use"]["enum"] = uses;
    schema["if"] = {{"required", {"use"}}};
    schema["then"] = {{"propertyNames", {{"enum", {"use", "with"}}}}, {"allOf", options}};
    schema["else"] = {{"required", {"steps"}}};
  }

  Json key(const KeyTable& table, const KeyRow& row) {
    const bool top = &table == &language().front();
    Json schema = {{"title", (top ? "" : table.title + ".") + std::string(row.name)},
                   {"description", row.summary}};
    Json allowed = value(row);
    const bool in_model = table.title.starts_with("model.") || table.title == "init";
    if (in_model && allows_option(row.form))
      allowed = or_option(std::move(allowed));
    const bool needed = row.required || row.name == "use";
    schema.update(needed ? allowed : or_null(std::move(allowed)));
    if (needed && schema.contains("$ref"))  // beside which all else is ignored
      schema = {{"title", schema["title"]},
                {"description", schema["description"]},
                {"allOf", Json::array({ref_of(schema)})}};
    if (!row.initial.empty())
      schema["default"] = initial(row);
    return schema;
  }

  static Json ref_of(const Json& schema) { return {{"$ref", schema["$ref"]}}; }

  static Json initial(const KeyRow& row) {
    const bool numeric = row.form == Form::integer || row.form == Form::number ||
                         row.form == Form::rate || row.form == Form::two_numbers;
    return numeric ? Json::parse(row.initial) : Json(row.initial);
  }

  // Values of a model that may be an option and are not text anyway.
  static bool allows_option(Form form) {
    return form == Form::boolean || form == Form::number || form == Form::word ||
           form == Form::keys || form == Form::fan_pair;
  }

  // The definition of a table, made at its first use.
  Json keys(const KeyRow& row) {
    const std::string& title = row.table->title;
    if (!definitions_.contains(title)) {
      definitions_[title] = Json::object();  // its place, before those that it needs
      definitions_[title] = table(*row.table);
    }
    return defined(title);
  }

  Json value(const KeyRow& row) {
    switch (row.form) {
      case Form::boolean:
        return of_type("boolean");
      case Form::integer:
        return number("integer", row.range);
      case Form::number:
        return number("number", row.range);
      case Form::two_numbers:
        return {{"type", "array"},
                {"items", number("number", row.range)},
                {"minItems", 2},
                {"maxItems", 2}};
      case Form::rate:
        return any_of(number("number", at_least(0)), keys(row));
      case Form::text:
      case Form::path:
      case Form::name_or_path:
      case Form::value:
        return of_type("string");
      case Form::paths: {
        Json several = list_of(of_type("string"));
        several["minItems"] = 1;
        return any_of(of_type("string"), several);
      }
      case Form::texts:
      case Form::values:
        return any_of(of_type("string"), list_of(of_type("string")));
      case Form::word:
        return {{"enum", Json(row.words)}};
      case Form::bytes:
        return any_of(number("number", between(1, 1LL << 60)), pattern(bytes_pattern));
      case Form::size:
        return defined("size");
      case Form::keys:
      case Form::model:
        return keys(row);
      default:
        return map_value(row);
    }
  }

  // Of the forms that are maps with keys of the user's own, or lists.
  Json map_value(const KeyRow& row) {
    switch (row.form) {
      case Form::dims:
        return named(or_null(any_of(defined("size"), keys(row))));
      case Form::mesh:
        return named(or_null(number("integer", between(1, 1 << 20))));
      case Form::named_paths:
        return map_of(or_null(of_type("string")));
      case Form::named_keys:
        return row.table->title == "model.blocks.BLOCK" ? of_own_names(map_of(or_null(keys(row))))
                                                        : map_of(or_null(keys(row)));
      case Form::rules:
        return defined("rules");
      case Form::tensor_rules:
        return map_of(or_null(defined("rules")));
      case Form::layout: {
        Json schema = layout_rules(true);
        schema["anyOf"].push_back(keys(row));
        return schema;
      }
      case Form::block_counts:
        return block_counts();
      case Form::dim_names:
        return defined("dim_names");
      case Form::fan_pair:
        return {
            {"type", "array"}, {"items", defined("dim_names")}, {"minItems", 2}, {"maxItems", 2}};
      case Form::tensors:
        return map_of(any_of(defined("dim_names"), keys(row)));
      case Form::choices: {
        Json choice = map_of(Json{{"type", {"string", "number", "boolean", "null"}}});
        choice["properties"] = {{"by", pattern("\\$")}};
        choice["required"] = Json::array({"by"});
        return of_own_names(map_of(choice));
      }
      case Form::steps:
        return defined("steps");
      case Form::named_value:
        return map_of(of_type("string"));
      case Form::results:
        return any_of(of_type("string"), map_of(of_type("string")));
      default:
        return of_type("object");  // options: anything
    }
  }

  Json definitions_ = Json::object();
  Json complete_ = Json::object();
  std::set<const KeyRow*> merged_;
};

}  // namespace

std::string spec_schema() {
  return SchemaWriter().spec().dump(1) + "\n";
}

std::string library_schema() {
  return SchemaWriter().library_file().dump(1) + "\n";
}

}  // namespace mtf
