#include "runtime/feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "plan/lower.h"
#include "runtime/true_part.h"
#include "spec/dims.h"
#include "text/text_data.h"

namespace mtf {
namespace {

bool is_fed(const Program& program, const Program::Binding& b) {
  return program[b.value].storage == Storage::input && !b.name.starts_with("driver:");
}

// What an i32 input holds beyond the last example: -1, a label that no loss counts, unless it is an
// index, which must be there.
int64_t absent_of(const Plan& plan, const std::string& name, DType dtype) {
  const bool index = std::any_of(plan.id_ranges.begin(), plan.id_ranges.end(),
                                 [&](const IdRange& r) { return r.input == name && r.low == 0; });
  return dtype == DType::i32 && !index ? -1 : 0;
}

// An input of a program that runs `pieces` times for one whole batch.
BatchInput input_of(const Spec& spec, const Plan& plan, const Program& program,
                    const Program::Binding& b, int64_t pieces) {
  const Type& type = program[b.value].type;
  BatchInput input;
  input.name = b.name;
  input.dtype = type.dtype;
  input.absent = absent_of(plan, b.name, type.dtype);
  for (DimId d : type.shape.dims) {
    const int at = static_cast<int>(input.dims.size());
    const bool batch = program[d].name == spec.data->batch;
    input.dims.push_back(program[d].name);
    input.size.push_back(program[d].true_size() * (batch ? pieces : 1));
    if (batch)
      input.batch = at;
    if (program[d].name == (spec.infer.along.empty() ? "length" : spec.infer.along))
      input.along = at;
  }
  return input;
}

// Each once, though several programs read it.
std::vector<BatchInput> inputs_of(const Spec& spec, const Plan& plan) {
  std::vector<BatchInput> out;
  for (const PlannedProgram& planned : plan.programs) {
    const Program& program = planned.program;
    const int64_t pieces = program.name == "accumulate" ? spec.train->microbatches : 1;
    for (const Program::Binding& b : program.inputs) {
      const bool known = std::any_of(out.begin(), out.end(),
                                     [&](const BatchInput& i) { return i.name == b.name; });
      if (is_fed(program, b) && !known)
        out.push_back(input_of(spec, plan, program, b, pieces));
    }
  }
  return out;
}

std::vector<SyntheticRule> rules_of(const Spec& spec) {
  Diagnostics mistakes;
  DimTable dims(mistakes, spec.dims);
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

Feed::Feed(const Spec& spec, const Plan& plan) {
  if (!spec.data)
    throw Failure(Exit::spec,
                  "this spec has no `data:`, so there is nothing to read; add one, for example "
                  "`data: {text: corpus/*.txt, tokenizer: bytes}`");
  inputs_ = inputs_of(spec, plan);
  data_ = open_data(spec, inputs_);
  for (const IdRange& r : plan.id_ranges)
    if (std::any_of(inputs_.begin(), inputs_.end(),  // else no program reads it
                    [&](const BatchInput& input) { return input.name == r.input; }))
      data_->check_range(r.input, r.low, r.high);
  if (plan.find("eval") && data_->validation_batches() == 0)
    throw Failure(
        Exit::bad_input,
        fmt::format("data.validation: a share of {} of {} examples holds out none to evaluate",
                    spec.data->validation, data_->examples(Split::train)));
}

void Feed::fill(Executor& executor, int rank, Split split, int64_t step, int64_t piece) const {
  const Program& program = executor.program();
  for (const Program::Binding& b : program.inputs) {
    if (!is_fed(program, b))
      continue;
    const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                    [&](const BatchInput& i) { return i.name == b.name; });
    CHECK(input != inputs_.end(), b.name);
    const View view = view_of(program, program[b.value], rank);
    fill_shard(view, executor.bytes(b.value), [&](Box part, std::span<std::byte> out) {
      if (input->batch >= 0) {
        const auto at = static_cast<size_t>(input->batch);
        part.origin[at] += piece * view.whole[at];
      }
      data_->read(b.name, split, step, part.origin, part.size, out);
    });
  }
}

}  // namespace mtf
