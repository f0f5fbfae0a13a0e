// The body of a product as a TileBody whose last input is the sums.
#include "product_epilogue.h"

namespace mtf {
namespace {

DType sum_type(const KernelCall& call) {
  const DType operand = call.inputs[static_cast<size_t>(call.terms[0].a)].dtype;
  return operand == DType::f64 ? DType::f64 : DType::f32;
}

int result_register(const KernelCall& call, size_t result) {
  return call.body.results.empty() ? static_cast<int>(call.inputs.size())
                                   : call.body.results[result];
}

std::vector<View> registers_of(const KernelCall& call) {
  std::vector<View> views = call.inputs;
  views.push_back(call.results[0]);
  views.back().dtype = sum_type(call);
  return views;
}

std::vector<TileBody::Wanted> wanted_of(const KernelCall& call) {
  std::vector<TileBody::Wanted> wanted;
  for (size_t r = 0; r < call.results.size(); ++r)
    wanted.push_back({result_register(call, r), call.results[r].dtype});
  return wanted;
}

int64_t size_in(const View& view, DimId dim) {
  for (size_t i = 0; i < view.dims.size(); ++i)
    if (view.dims[i] == dim)
      return view.size[i];
  return 1;
}

// Loops in the contraction's order of dims, in which the sums of a row follow each other: their
// position in the nest is their offset.
Nest nest_of(const KernelCall& call, const Contraction& c) {
  Nest nest;
  int64_t position_step = c.batch * c.rows * c.columns;
  const auto add = [&](int64_t size, DimId dim) {
    std::vector<int64_t> strides;
    for (const View& input : call.inputs)
      strides.push_back(stride_of(input, dim));
    position_step /= size;
    strides.push_back(position_step);
    for (const View& result : call.results)
      strides.push_back(stride_of(result, dim));
    nest.add(size, strides);
  };
  for (DimId dim : c.order)
    add(size_in(call.results[0], dim), dim);
  if (c.order.empty())
    add(1, DimId{});
  nest.base.assign(call.inputs.size() + 1 + call.results.size(), 0);
  nest.collapse();
  return nest;
}

}  // namespace

bool ProductEpilogue::needed(const KernelCall& call) {
  return call.results.size() > 1 || call.results[0].dtype != sum_type(call) ||
         result_register(call, 0) != static_cast<int>(call.inputs.size());
}

ProductEpilogue::ProductEpilogue(const KernelCall& call, const Contraction& c, Isa isa)
    : loops_(loops_of(isa)),
      registers_(registers_of(call)),
      rows_(c.rows),
      columns_(c.columns),
      nest_(nest_of(call, c)),
      body_(registers_, call.body.steps, wanted_of(call), isa) {
  for (const View& result : call.results)
    types_.push_back(result.dtype);
  if (registers_.size() > max_operands || types_.size() > max_operands)
    kernel_bug("a product with too many operands");
}

void ProductEpilogue::run(const KernelRun& run, const Part& part, const void* sums, int64_t stride,
                          std::byte* scratch) const {
  const std::byte* from = static_cast<const std::byte*>(sums);
  const int64_t row_bytes = stride * size_of(registers_.back().dtype);
  const int64_t first = (part.batch * rows_ + part.row) * columns_ + part.column;
  const bool whole_rows = part.columns == columns_ && stride == columns_;
  body_.begin(scratch, nest_, run.inputs);
  if (whole_rows)
    return store(run, first, part.rows * part.columns, from, scratch);
  for (int64_t i = 0; i < part.rows; ++i)
    store(run, first + i * columns_, part.columns, from + i * row_bytes, scratch);
}

void ProductEpilogue::store(const KernelRun& run, int64_t at, int64_t count, const std::byte* sums,
                            std::byte* scratch) const {
  const std::byte* operands[max_operands];
  std::copy(run.inputs.begin(), run.inputs.end(), operands);
  operands[run.inputs.size()] = sums - at * size_of(registers_.back().dtype);
  const std::span<const std::byte* const> inputs(operands, registers_.size());
  for (const int64_t end = at + count; at < end;) {
    const int64_t n = body_.stretch(nest_, at, end - at);
    void* targets[max_operands];
    for (size_t r = 0; r < types_.size(); ++r)
      targets[r] = target(run, r, at, n);
    body_.run(scratch, nest_, inputs, at, n, targets);
    for (size_t r = 0; r < types_.size(); ++r) {
      const auto* value = static_cast<const std::byte*>(body_.value(scratch, static_cast<int>(r)));
      if (value == targets[r])
        continue;
      const int operand = static_cast<int>(registers_.size() + r);
      const DType type = types_[r];
      nest_.for_runs(operand, at, n, [&](int64_t offset, int64_t start, int64_t m) {
        loops_.store[static_cast<size_t>(type)](run.results[r] + offset * size_of(type),
                                                nest_.step(operand),
                                                value + start * size_of(class_of(type)), m);
      });
    }
    at += n;
  }
}

// Where the loops may write a result directly: one run of memory, held as it is stored.
void* ProductEpilogue::target(const KernelRun& run, size_t result, int64_t at,
                              int64_t count) const {
  const int operand = static_cast<int>(registers_.size() + result);
  const DType type = types_[result];
  if (!held_as_stored(type) || nest_.step(operand) != 1 || count > nest_.left_in_run(operand, at))
    return nullptr;
  return run.results[result] + nest_.offset(operand, at) * size_of(type);
}

}  // namespace mtf
