// The JSON Schema (draft-07) of a spec, for editors and validators, from the tables of
// spec/language.h, the op table and the library. It says what stands where. What needs a built
// model (names, shapes, divisibility) it cannot say.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mtf {

std::string spec_schema();  // JSON text that ends in a newline

// Its definitions `steps`, `step` and `operands`: ops, attributes, blocks.
void define_steps(nlohmann::ordered_json& definitions);

// What `with` may hold beside `use: NAME`: one condition for each model of the library.
nlohmann::ordered_json library_options();

}  // namespace mtf
