#include "spec/model_keys.h"

#include <algorithm>

#include "base/check.h"

namespace mtf {
namespace {

const KeyTable& find(const std::deque<KeyTable>& tables, std::string_view title) {
  auto table = std::find_if(tables.begin(), tables.end(),
                            [&](const KeyTable& t) { return t.title == title; });
  CHECK(table != tables.end());
  return *table;
}

std::vector<KeyRow> init_rows() {
  std::vector<KeyRow> rows = {
      {"normal", "standard deviation of a normal, cut off at two deviations", Form::number},
      {"uniform", "numbers in (-a, a)", Form::number},
      {"constant", "this number everywhere", Form::number},
      {"fan_in", "dims: normal of deviation 1/√(their product)", Form::dim_names},
      {"fan_avg", "dims in and out: normal of deviation √(2/(in + out)) of the two products",
       Form::fan_pair}};
  rows[0].range = rows[1].range = at_least(0);
  for (KeyRow& row : rows)
    row.one_of = true;
  return rows;
}

std::vector<KeyRow> leaf_rows(KeyRow second) {
  KeyRow dims = {"dims", "dims of the tensor, in order", Form::dim_names};
  dims.required = true;
  return {dims, std::move(second)};
}

KeyRow required(KeyRow row) {
  row.required = true;
  return row;
}

}  // namespace

const KeyTable& add_model_tables(std::deque<KeyTable>& tables) {
  const KeyTable& dim = find(tables, "dims.DIM");
  KeyTable& model = tables.emplace_back(KeyTable{"model", "", {}, {}});
  KeyRow dtype = {"dtype", "dtype of the values; f32 (f64 where `compute` is f64) if left out",
                  Form::word};
  dtype.words = {"f32", "f64", "bf16", "i32", "u8", "bool"};
  const KeyTable& input =
      tables.emplace_back(KeyTable{"model.inputs.INPUT", "INPUT", leaf_rows(dtype), {}});
  const KeyTable& init = tables.emplace_back(KeyTable{"init", "", init_rows(), {}});
  const KeyTable& param = tables.emplace_back(
      KeyTable{"model.params.PARAM",
               "PARAM",
               leaf_rows({"init",
                          "initial values; by default a normal that keeps the scale of the first "
                          "einsum, and 0 where no einsum reads it",
                          Form::keys, &init}),
               {}});
  const KeyRow with = {"with", "options and their defaults; `$name` stands for one in the body",
                       Form::options};
  const KeyRow dims = {"dims", "dims that it brings along; the spec's own win", Form::dims, &dim};
  const KeyRow params = {"params", "parameters", Form::tensors, &param};
  const KeyRow choose = {
      "choose", "names bound by an option: {by: $option, case: name, else: name}", Form::choices};
  const KeyRow steps = {"steps", "a list of `result: {op: operands, attribute: value}`",
                        Form::steps};
  const KeyTable& block = tables.emplace_back(KeyTable{
      "model.blocks.BLOCK",
      "BLOCK",
      {{"takes", "names of its operands", Form::values},
       with,
       dims,
       {"local", "its dims are its own, whatever the spec's are", Form::boolean},
       params,
       choose,
       steps,
       required({"gives", "its result, or a map of names, read as `step.name`", Form::results})},
      {}});
  model.rows = {
      {"use", "a model of the library, in place of all other keys but `with`", Form::text},
      with,
      dims,
      {"inputs", "what data give", Form::tensors, &input},
      params,
      choose,
      {"blocks", "blocks by name", Form::named_keys, &block},
      required(steps),
      {"loss", "the scalar that is trained", Form::value},
      {"outputs",
       "values by name; one named as an input is compared with it: accuracy over labels "
       "that count (not below 0, not the one that the loss ignores)",
       Form::named_value}};
  return model;
}

}  // namespace mtf
