// The JSON Schemas (draft-07) of specs and of library files, for editors and validators, from the
// tables of spec/language.h, the op table and the library. They say what stands where. What needs a
// built model (names, shapes, divisibility) they cannot say.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mtf {

// JSON texts that end in a newline.
std::string spec_schema();
std::string library_schema();

// The definitions `steps`, `step` and `operands`: ops, attributes, blocks.
void define_steps(nlohmann::ordered_json& definitions);

// What `with` may hold beside `use: NAME`: one condition for each model of the library.
nlohmann::ordered_json library_options();

}  // namespace mtf
