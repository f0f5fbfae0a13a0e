// Strict reading on top of nlohmann-json, whose own rules are lenient: it keeps the last of two
// equal keys and converts numbers without looking at their range.
#include "io/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace mtf {
namespace {

using nlohmann::json;

constexpr int deepest = 64;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Failure(Exit::bad_input, where + ": " + what);
}

}  // namespace

json parse_json(std::string_view text, const std::string& where) {
  if (text.find('\0') != std::string_view::npos)
    refuse(where, "not valid JSON: it holds a zero byte");
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > deepest)
      refuse(where, fmt::format("nested more than {} deep", deepest));
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    if (event == json::parse_event_t::object_end)
      keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      refuse(where, "the key '" + parsed.get<std::string>() + "' stands twice");
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& e) {
    refuse(where, std::string("not valid JSON: ") + e.what());
  }
}

const json& field_of(const json& object, std::string_view key, const std::string& where) {
  if (!object.is_object())
    refuse(where,
           fmt::format("expected an object with the key '{}', found {}", key, object.type_name()));
  const auto it = object.find(std::string(key));
  if (it == object.end())
    refuse(where, fmt::format("the key '{}' is missing", key));
  return *it;
}

int64_t integer_of(const json& value, const std::string& where) {
  constexpr uint64_t largest = uint64_t{1} << 62;
  if (!value.is_number_unsigned() || value.get<uint64_t>() > largest)
    refuse(where, "expected an integer from 0 to 2^62, found " +
                      (value.is_number() ? value.dump() : std::string(value.type_name())));
  return static_cast<int64_t>(value.get<uint64_t>());
}

std::string text_of(const json& value, const std::string& where) {
  if (!value.is_string())
    refuse(where, std::string("expected a string, found ") + value.type_name());
  return value.get<std::string>();
}

std::vector<int64_t> integers_of(const json& value, const std::string& where) {
  if (!value.is_array())
    refuse(where, std::string("expected a list of integers, found ") + value.type_name());
  std::vector<int64_t> all;
  for (const json& v : value)
    all.push_back(integer_of(v, where));
  return all;
}

std::vector<std::string> texts_of(const json& value, const std::string& where) {
  if (!value.is_array())
    refuse(where, std::string("expected a list of strings, found ") + value.type_name());
  std::vector<std::string> all;
  for (const json& v : value)
    all.push_back(text_of(v, where));
  return all;
}

std::string dump_json(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace mtf
