#include "runtime/feed.h"

#include <algorithm>

#include "base/error.h"
#include "plan/lower.h"
#include "spec/dims.h"
#include "text/text_data.h"

namespace mtf {
namespace {

std::vector<BatchInput> inputs_of(const Spec& spec, const Program& program, int64_t pieces) {
  std::vector<BatchInput> out;
  for (const Program::Binding& b : program.inputs) {
    const Value& v = program[b.value];
    const bool known = std::any_of(out.begin(), out.end(), [&](const BatchInput& i) { return i.name == b.name; });
    if (v.storage != Storage::input || v.type.shape.dims.empty() || known)
      continue;
    BatchInput input;
    input.name = b.name;
    input.dtype = v.type.dtype;
    input.absent = is_float(v.type.dtype) ? 0 : -1;
    for (DimId d : v.type.shape.dims) {
      const int at = static_cast<int>(input.dims.size());
      const bool batch = program[d].name == spec.data->batch;
      input.dims.push_back(program[d].name);
      input.size.push_back(program[d].size * (batch ? pieces : 1));
      if (batch)
        input.batch = at;
      if (program[d].name == (spec.infer.along.empty() ? "length" : spec.infer.along))
        input.along = at;
    }
    if (input.name == (spec.infer.tokens.empty() ? "tokens" : spec.infer.tokens))
      input.absent = 0;
    out.push_back(std::move(input));
  }
  return out;
}

std::vector<SyntheticRule> rules_of(const Spec& spec) {
  Diagnostics mistakes;
  DimTable dims(mistakes);
  for (const DimSpec& d : spec.dims)
    dims.add(d);
  std::vector<SyntheticRule> out;
  for (const SyntheticInput& s : spec.data->synthetic) {
    if (s.kind == SyntheticInput::Kind::normal) {
      out.push_back({s.name, NormalNumbers{s.deviation}});
      continue;
    }
    const std::optional<int64_t> below = dims.evaluate(s.below, s.below_span);
    if (!below)
      throw Failure(Exit::spec, "data.synthetic." + s.name + ": '" + s.below + "' is not a size: " +
                                    std::string(mistakes.all().back().message));
    out.push_back({s.name, UniformIntegers{*below}});
  }
  return out;
}

Dataset open_data(const Spec& spec, const std::vector<BatchInput>& inputs) {
  const DataSpec& data = *spec.data;
  const auto seed = static_cast<uint64_t>(spec.train ? spec.train->seed : 1);
  if (data.kind == DataSpec::Kind::text)
    return text_dataset(inputs, data.text, data.validation, seed);
  if (data.kind == DataSpec::Kind::synthetic)
    return synthetic_dataset(inputs, rules_of(spec), seed);
  std::vector<ArrayFile> files;
  for (const NamedPath& p : data.arrays)
    files.push_back({p.name, p.path});
  return array_dataset(inputs, files, data.validation, seed);
}

}  // namespace

Feed::Feed(const Spec& spec, const Plan& plan, const Program& program, int64_t pieces) {
  if (!spec.data)
    throw Failure(Exit::spec, "this spec has no `data:`, so there is nothing to read; add one, for example "
                              "`data: {text: corpus/*.txt, tokenizer: bytes}`");
  inputs_ = inputs_of(spec, program, pieces);
  data_ = open_data(spec, inputs_);
  for (const IdRange& r : plan.id_ranges)
    data_->check_range(r.input, r.low, r.high);
}

void Feed::fill(Executor& executor, int rank, Split split, int64_t step, int64_t piece) const {
  const Program& program = executor.program();
  for (const Program::Binding& b : program.inputs) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(), [&](const BatchInput& i) { return i.name == b.name; });
    if (program[b.value].storage != Storage::input || input == inputs_.end())
      continue;
    View view = view_of(program, program[b.value], rank);
    if (input->batch >= 0) {
      const auto at = static_cast<size_t>(input->batch);
      view.origin[at] += piece * view.whole[at];
    }
    data_->read(b.name, split, step, view.origin, view.size, executor.bytes(b.value));
  }
}

}  // namespace mtf
