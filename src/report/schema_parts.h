// Small parts of JSON Schemas.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

#include "base/range.h"

namespace mtf {

inline nlohmann::ordered_json of_type(std::string_view type) {
  return {{"type", type}};
}

// An integer or a number within a range.
inline nlohmann::ordered_json number(std::string_view type, Range range) {
  auto plain = [](double x) {
    return x == std::floor(x) ? nlohmann::ordered_json(static_cast<int64_t>(x))
                              : nlohmann::ordered_json(x);
  };
  nlohmann::ordered_json schema = of_type(type);
  if (std::isfinite(range.least))
    schema[range.least_excluded ? "exclusiveMinimum" : "minimum"] = plain(range.least);
  if (std::isfinite(range.most))
    schema[range.most_excluded ? "exclusiveMaximum" : "maximum"] = plain(range.most);
  return schema;
}

inline nlohmann::ordered_json defined(std::string_view definition) {
  return {{"$ref", "#/definitions/" + std::string(definition)}};
}

template <class... Schemas>
nlohmann::ordered_json any_of(Schemas... schemas) {
  return {{"anyOf", nlohmann::ordered_json::array({std::move(schemas)...})}};
}

inline nlohmann::ordered_json list_of(nlohmann::ordered_json item) {
  return {{"type", "array"}, {"items", std::move(item)}};
}

inline nlohmann::ordered_json map_of(nlohmann::ordered_json value) {
  return {{"type", "object"}, {"additionalProperties", std::move(value)}};
}

// The schema, or null, which is the same as no key.
inline nlohmann::ordered_json or_null(nlohmann::ordered_json schema) {
  if (schema.contains("enum")) {
    schema["enum"].push_back(nullptr);
  } else if (schema.contains("type")) {
    if (!schema["type"].is_array())
      schema["type"] = nlohmann::ordered_json::array({schema["type"]});
    schema["type"].push_back("null");
  } else if (schema.contains("anyOf")) {
    schema["anyOf"].push_back(of_type("null"));
  } else {
    return any_of(std::move(schema), of_type("null"));
  }
  return schema;
}

// The schema, or an option `$name` whose value is not known yet.
inline nlohmann::ordered_json or_option(nlohmann::ordered_json schema) {
  return any_of(std::move(schema), defined("option"));
}

}  // namespace mtf
