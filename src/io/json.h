// JSON that is read strictly: no duplicate keys, no deep nesting, integers in range. Sources that
// include this also include <nlohmann/json.hpp>.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace mtf {

// `where` opens every message (a path). All errors are Failure(Exit::bad_input).
nlohmann::json parse_json(std::string_view text, const std::string& where);

// The entry `key` of an object, of the given type.
const nlohmann::json& field_of(const nlohmann::json& object, std::string_view key,
                               const std::string& where);
int64_t integer_of(const nlohmann::json&, const std::string& where);  // 0 to 2^62
std::string text_of(const nlohmann::json&, const std::string& where);
std::vector<int64_t> integers_of(const nlohmann::json&, const std::string& where);
std::vector<std::string> texts_of(const nlohmann::json&, const std::string& where);

std::string dump_json(const nlohmann::ordered_json&, int indent = -1);  // bad UTF-8 is replaced

}  // namespace mtf
