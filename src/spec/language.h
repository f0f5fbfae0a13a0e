// The language as plain data: every map with its keys, by walking the descriptions of fields.h, and
// the maps inside of `model:`. From it come the JSON Schema, the tables of docs/LANGUAGE.md,
// completion, and where a misplaced key belongs.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/scalars.h"

namespace mtf {

// What the value of a key may be. `keys` is a map of the keys of a table; "named" forms are maps
// whose keys the user chooses.
enum class Form : uint8_t {
  boolean,
  integer,
  number,
  two_numbers,
  rate,  // number, or keys
  text,
  texts,  // text, or a list of it
  word,   // one of a few
  bytes,  // 2GiB
  path,
  paths,  // path, or a list of paths
  name_or_path,
  size,  // an integer or an expression over dims
  keys,
  dims,  // named: size, or keys
  mesh,  // named: integer
  named_paths,
  named_keys,
  rules,         // of a layout
  tensor_rules,  // by path pattern
  layout,        // rules, or keys
  block_counts,  // power of two, or named: integer
  model,         // {use, with}, or keys
  // Inside of a model:
  options,      // named: anything
  dim_names,    // a dim, or a list of dims
  fan_pair,     // a list of two dim_names
  tensors,      // named: dim_names, or keys
  choices,      // named: {by: $option, case: name, else: name}
  steps,        // a list of `result: {op: operands, ...}`
  value,        // the name of a value
  values,       // a name, or a list of names
  named_value,  // named: value
  results,      // a name, or named: value
};

// Is it a map, a list or a scalar, as the form may be? What it holds is seen when it is read.
bool fits(const YamlNode&, Form);

bool has_user_keys(Form);  // is it, or may it be, a map whose keys the user chooses?

struct KeyTable;

struct KeyRow {
  std::string_view name, summary;
  Form form;
  const KeyTable* table = nullptr;           // of `keys`, and of named keys
  Range range = {};                          // of numbers
  std::vector<std::string_view> words = {};  // of a word
  std::string initial = {};                  // what holds if it is left out, as YAML; may be empty
  bool required = false;
  bool one_of = false;  // exactly one of the keys marked so must stand
};

struct KeyTable {
  std::string title;  // "train.optimizer"; "dims.DIM" for each dim
  std::string entry;  // "DIM" if the map is one of many that users name
  std::vector<KeyRow> rows;
  std::vector<std::string_view> later;  // known to the language, refused for now

  const KeyRow* find(std::string_view name) const;  // null if absent
  std::vector<std::string> names() const;
};

const std::deque<KeyTable>& language();  // the spec's own keys first
const KeyTable& key_table(std::string_view title);

// Calls `visit` for every key from the top down, with its path: train.optimizer.adamw.betas.
void for_each_key(const std::function<void(const std::string& path, const KeyRow&)>& visit);

}  // namespace mtf
