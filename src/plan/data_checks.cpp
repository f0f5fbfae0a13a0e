#include "plan/data_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/dims.h"
#include "spec/scalars.h"

namespace mtf {
namespace {

struct Given {  // a value that the data name
  std::string name;
  SourceSpan span;
};

std::vector<Given> given_by(const Spec& spec) {
  std::vector<Given> out;
  for (const NamedPath& array : spec.data->arrays)
    out.push_back({array.name, array.span});
  for (const SyntheticInput& input : spec.data->synthetic)
    out.push_back({input.name, input.span});
  return out;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Below which size the ids of an input are; 0 if that is unknown, which has been reported, or if it
// has none.
int64_t ids_below(DimTable& dims, const SyntheticInput& input) {
  return input.below.empty() ? 0 : dims.evaluate(input.below, input.below_span).value_or(0);
}

// `uniform` gives ids, `normal` numbers.
void check_synthetic(const Spec& spec, const Graph& graph, Diagnostics& diagnostics) {
  Diagnostics known;
  DimTable dims(known, spec.dims);
  for (const SyntheticInput& given : spec.data->synthetic)
    for (const Named& input : graph.inputs) {
      if (input.name != given.name)
        continue;
      const DType dtype = graph[input.node].type.dtype;
      const bool ids = given.kind == SyntheticInput::Kind::uniform;
      const int64_t most = dtype == DType::boolean ? 2
                           : dtype == DType::u8    ? 256
                                                   : int64_t{1} << 31;
      if (const int64_t below = ids_below(dims, given); !is_float(dtype) && below > most)
        diagnostics.add(
            {Code::data_mismatch,
             fmt::format("'{}' has ids below {}, but {} holds those below {}", given.name, below,
                         name_of(dtype), most),
             given.below_span,
             {{graph[input.node].origin.span, "the input is declared here"}},
             dtype == DType::i32 ? "write a smaller size" : "give the input `dtype: i32`"});
      if (ids == is_float(dtype))
        diagnostics.add(
            {Code::data_mismatch,
             fmt::format("{} gives {}; input '{}' is {}", ids ? "uniform" : "normal",
                         ids ? "integers" : "floating point numbers", input.name, name_of(dtype)),
             given.span,
             {{graph[input.node].origin.span, "the input is declared here"}},
             ids ? "write `normal: 1`, or give the input `dtype: i32`"
                 : "write `uniform: SIZE`, with the size of what it indexes"});
    }
}

// Text gives token ids, by examples and one more dim, and nothing else.
void check_text(const Spec& spec, const Graph& graph, const std::vector<std::string>& inputs,
                Diagnostics& diagnostics) {
  const std::string& batch = spec.data->batch;
  const DimId batch_dim = graph.find_dim(batch);
  DimId length;
  for (const Named& input : graph.inputs) {
    if (!contains(inputs, input.name))
      continue;
    const auto& [shape, dtype] = graph[input.node].type;
    auto refuse = [&](const std::string& message, Help help) {
      diagnostics.add({Code::data_mismatch,
                       message,
                       graph[input.node].origin.span,
                       {{spec.span("data"), "the data are text"}},
                       std::move(help)});
    };
    const bool known = input.name == "tokens" || input.name == "targets";
    if (!known || dtype != DType::i32) {
      refuse(fmt::format("text gives 'tokens' and 'targets' of i32; input '{}' is {} {}",
                         input.name, name_of(dtype), graph.show(shape)),
             "feed other inputs by `data: {arrays: ...}`");
      continue;
    }
    if (!shape.has(batch_dim) || shape.dims.size() != 2) {
      refuse(fmt::format("text gives '{}' for each example, along '{}', and position; '{}' is {}",
                         input.name, batch, input.name, graph.show(shape)),
             fmt::format("write two dims, such as [{}, length]; if another dim than '{}' counts "
                         "examples, say so: `data: {{batch: DIM}}`",
                         batch, batch));
      continue;
    }
    const DimId own = shape.dims[shape.dims[0] == batch_dim ? 1 : 0];
    if (length.index >= 0 && graph[own].true_size() != graph[length].true_size())
      refuse(fmt::format("'{}' has {}={}, but '{}' has {}={}", input.name, graph[own].name,
                         graph[own].true_size(), input.name == "tokens" ? "targets" : "tokens",
                         graph[length].name, graph[length].true_size()),
             "text gives as many targets as tokens");
    length = own;
  }
}

}  // namespace

void check_data(const Spec& spec, const Graph& graph,
                const std::set<std::string, std::less<>>& other_words, Diagnostics& diagnostics) {
  const bool any = spec.has("data.text") || spec.has("data.arrays") || spec.has("data.synthetic");
  if (!spec.data || !any)  // that none is given was reported
    return;
  std::vector<std::string> inputs;
  for (const Named& input : graph.inputs)
    if (is_name(input.name))  // driver:step is ours
      inputs.push_back(input.name);
  if (spec.data->kind == DataSpec::Kind::text)
    return check_text(spec, graph, inputs, diagnostics);
  check_synthetic(spec, graph, diagnostics);
  std::vector<std::string> served;
  const std::vector<Given> given = given_by(spec);
  for (const Given& value : given) {
    served.push_back(value.name);
    if (contains(inputs, value.name) || other_words.contains(value.name))
      continue;
    for (std::string& near : nearest(value.name, inputs))  // a misspelt input is not missing too
      served.push_back(std::move(near));
    diagnostics.add({Code::data_mismatch,
                     fmt::format("the model has no input '{}'", value.name),
                     value.span,
                     {},
                     suggest(value.name, value.span, inputs,
                             inputs.empty() ? "" : "its inputs are " + listed(inputs))});
  }
  const bool shifts = spec.data->kind == DataSpec::Kind::synthetic && contains(served, "tokens");
  for (const std::string& input : inputs)
    if (!contains(served, input) && !(shifts && input == "targets"))
      diagnostics.add({Code::data_mismatch,
                       fmt::format("the data have no values for the input '{}'", input),
                       spec.span("data"),
                       {},
                       fmt::format("give '{}' too", input)});
}

void check_synthetic_ids(const Spec& spec, const std::vector<IdRange>& ranges,
                         Diagnostics& diagnostics) {
  if (!spec.data)
    return;
  Diagnostics known;
  DimTable dims(known, spec.dims);
  for (const SyntheticInput& given : spec.data->synthetic)
    for (const IdRange& range : ranges)
      if (const int64_t below = ids_below(dims, given);
          range.input == given.name && below > range.high)
        diagnostics.add({Code::data_mismatch,
                         fmt::format("'{}' has ids below {}, but what it indexes has {}",
                                     given.name, below, range.high),
                         given.below_span,
                         {},
                         fmt::format("write a size of at most {}", range.high)});
}

}  // namespace mtf
