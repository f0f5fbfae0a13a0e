// Lowers the body of a call to loops over tiles of a few hundred elements, whose values stay in the
// first-level cache: arithmetic in one class, then the rounding to the step's dtype.
#include <algorithm>

#include "elementwise.h"

namespace mtf {
namespace {

constexpr int64_t tile_budget_bytes = 24 << 10;

int index(Class c) {
  return static_cast<int>(c);
}
int index(DType t) {
  return static_cast<int>(t);
}

// The class in which a step computes: the widest of its type and its numeric operands.
Class arithmetic_of(const BodyStep& s, const std::vector<DType>& dtypes) {
  Class c = gives_truth(s.op) ? Class::integer : class_of(s.type);
  const int operands[] = {s.a, s.b, s.c};
  for (int i = s.op == Scalar::select ? 1 : 0; i < arity_of(s.op); ++i)
    c = std::max(c, class_of(dtypes[static_cast<size_t>(operands[i])]));
  return c;
}

}  // namespace

DType TileBody::dtype_of(const std::vector<View>& inputs, const std::vector<BodyStep>& steps,
                         int reg) {
  const size_t r = static_cast<size_t>(reg);
  return r < inputs.size() ? inputs[r].dtype : steps[r - inputs.size()].type;
}

TileBody::TileBody(const std::vector<View>& inputs, const std::vector<BodyStep>& steps,
                   const std::vector<Wanted>& wanted, Isa isa)
    : loops_(loops_of(isa)) {
  std::vector<int> registers;
  std::vector<DType> dtypes;
  for (const View& v : inputs) {
    registers.push_back(static_cast<int>(values_.size()));
    dtypes.push_back(v.dtype);
    values_.push_back({.held = class_of(v.dtype)});
  }
  types_ = dtypes;
  for (const BodyStep& s : steps) {
    registers.push_back(lower(s, registers, dtypes));
    dtypes.push_back(s.type);
  }
  std::vector<int> results;
  for (const Wanted& w : wanted) {
    const size_t reg = static_cast<size_t>(w.reg);
    results.push_back(rounded(registers[reg], dtypes[reg], w.type));
  }
  want(results);
  place();
}

int TileBody::add(StepLoop loop, Class held, std::array<int, 3> operands, double immediate) {
  if (!loop)
    kernel_bug("an elementwise step has no meaning for its dtypes");
  bool constant = true;
  for (int v : operands)
    constant = constant && (v < 0 || values_[static_cast<size_t>(v)].constant);
  const int out = static_cast<int>(values_.size());
  auto& list = constant ? setup_ : ops_;
  for (int v : operands)
    if (v >= 0 && !constant)
      values_[static_cast<size_t>(v)].last_use = static_cast<int>(ops_.size());
  list.push_back({loop, operands[0], operands[1], operands[2], out, immediate});
  values_.push_back({.held = held, .constant = constant});
  return out;
}

int TileBody::rounded(int value, DType from, DType to) {
  const Class held = values_[static_cast<size_t>(value)].held;
  if (from == to || (held == class_of(to) && to == plain_dtype[index(held)]))
    return value;
  return add(loops_.convert[index(held)][index(to)], class_of(to), {value, -1, -1});
}

int TileBody::lower(const BodyStep& s, const std::vector<int>& registers,
                    const std::vector<DType>& dtypes) {
  if (s.op == Scalar::copy)
    return rounded(registers[static_cast<size_t>(s.a)], dtypes[static_cast<size_t>(s.a)], s.type);
  const Class c = arithmetic_of(s, dtypes);
  std::array<int, 3> operands = {s.a, s.b, s.c};
  for (int i = 0; i < 3; ++i) {
    const bool condition = s.op == Scalar::select && i == 0;
    if (i >= arity_of(s.op)) {
      operands[static_cast<size_t>(i)] = -1;
      continue;
    }
    const size_t reg = static_cast<size_t>(operands[static_cast<size_t>(i)]);
    operands[static_cast<size_t>(i)] =
        rounded(registers[reg], dtypes[reg], condition ? DType::boolean : plain_dtype[index(c)]);
  }
  const bool truth = gives_truth(s.op);
  int v = add(loops_.step[static_cast<int>(s.op)][index(c)], truth ? Class::integer : c, operands,
              s.immediate);
  return rounded(v, truth ? DType::boolean : plain_dtype[index(c)], s.type);
}

void TileBody::want(const std::vector<int>& results) {
  results_ = results;
  for (size_t r = 0; r < results.size(); ++r) {
    Value& v = values_[static_cast<size_t>(results[r])];
    v.last_use = static_cast<int>(ops_.size());
    v.result = static_cast<int>(r);
    copies_inputs_ = copies_inputs_ || (is_input(results[r]) && results.size() > 1);
  }
  for (size_t i = 0; i < types_.size(); ++i)
    last_input_use_ =
        std::max(last_input_use_, std::min(values_[i].last_use, static_cast<int>(ops_.size()) - 1));
}

// Inputs and constants keep a slot each; a value made by an op has one until its last use. Operands
// are freed after the result got its slot: loops that change the element size cannot work in place.
void TileBody::place() {
  std::vector<int> free;
  auto take = [&](Value& v) {
    if (free.empty()) {
      v.slot = static_cast<int>(slots_++);
    } else {
      v.slot = free.back();
      free.pop_back();
    }
  };
  int64_t widest = 4;
  for (size_t v = 0; v < values_.size(); ++v) {
    widest = std::max(widest, size_of(values_[v].held));
    if (v < types_.size() || values_[v].constant)
      values_[v].slot = static_cast<int>(slots_++);
  }
  for (size_t i = 0; i < ops_.size(); ++i) {
    take(values_[static_cast<size_t>(ops_[i].out)]);
    for (size_t v = types_.size(); v < values_.size(); ++v)
      if (!values_[v].constant && values_[v].slot >= 0 &&
          values_[v].last_use == static_cast<int>(i))
        free.push_back(values_[v].slot);
  }
  tile_ =
      std::clamp<int64_t>(tile_budget_bytes / (std::max<int64_t>(slots_, 1) * widest), 256, 2048) /
      64 * 64;
  slot_bytes_ = tile_ * widest;
}

int64_t TileBody::stretch(const Nest& nest, int64_t at, int64_t limit) const {
  const int64_t run = nest.size.back();
  const int only = results_.size() == 1 ? results_[0] : -1;
  if (only >= 0 && is_input(only) && nest.step(only) == 1 &&
      held_as_stored(types_[static_cast<size_t>(only)]))
    return std::min(limit, nest.left_in_run(only, at));
  if (run < tile_ / 4)
    return std::min(limit, tile_);
  const int64_t parts = (run + tile_ - 1) / tile_;
  const int64_t even = ((run + parts - 1) / parts + 15) / 16 * 16;
  return std::min({limit, even, run - at % run});
}

void TileBody::begin(std::byte* scratch, const Nest& nest,
                     std::span<const std::byte* const> inputs) const {
  auto* at = reinterpret_cast<const void**>(scratch);
  for (size_t v = 0; v < values_.size(); ++v)
    at[v] = scratch + pointer_bytes() + values_[v].slot * slot_bytes_;
  for (const Op& op : setup_)
    op.loop(op.a < 0 ? nullptr : at[op.a], op.b < 0 ? nullptr : at[op.b],
            op.c < 0 ? nullptr : at[op.c], const_cast<void*>(at[op.out]), tile_, op.immediate);
  for (int i = 0; is_input(i); ++i)
    if (nest.fixed(i))
      loops_.load[index(types_[static_cast<size_t>(i)])](
          const_cast<void*>(at[i]),
          inputs[static_cast<size_t>(i)] +
              nest.base[static_cast<size_t>(i)] * size_of(types_[static_cast<size_t>(i)]),
          0, tile_);
}

// Points at the input where it lies if that is one run of what the loops read, else copies it.
void TileBody::load(std::byte* scratch, int input, const Nest& nest, const std::byte* from,
                    int64_t at, int64_t n) const {
  const size_t i = static_cast<size_t>(input);
  const DType type = types_[i];
  const int64_t step = nest.step(input);
  auto** where = reinterpret_cast<const void**>(scratch);
  if (!copies_inputs_ && step == 1 && held_as_stored(type) && n <= nest.left_in_run(input, at)) {
    where[i] = from + nest.offset(input, at) * size_of(type);
    return;
  }
  std::byte* tile = scratch + pointer_bytes() + values_[i].slot * slot_bytes_;
  where[i] = tile;
  nest.for_runs(input, at, n, [&](int64_t offset, int64_t start, int64_t m) {
    loops_.load[index(type)](tile + start * size_of(values_[i].held), from + offset * size_of(type),
                             step, m);
  });
}

void TileBody::run(std::byte* scratch, const Nest& nest, std::span<const std::byte* const> inputs,
                   int64_t at, int64_t n, void* const* targets) const {
  for (int i = 0; is_input(i); ++i)
    if (values_[static_cast<size_t>(i)].last_use >= 0 && !nest.fixed(i))
      load(scratch, i, nest, inputs[static_cast<size_t>(i)], at, n);
  auto* where = reinterpret_cast<const void**>(scratch);
  for (int i = 0; i < static_cast<int>(ops_.size()); ++i) {
    const Op& op = ops_[static_cast<size_t>(i)];
    const Value& out = values_[static_cast<size_t>(op.out)];
    // A result may overwrite an input, so only once no op reads inputs any more.
    void* target = out.result >= 0 && i >= last_input_use_ ? targets[out.result] : nullptr;
    where[op.out] = target ? target : scratch + pointer_bytes() + out.slot * slot_bytes_;
    op.loop(op.a < 0 ? nullptr : where[op.a], op.b < 0 ? nullptr : where[op.b],
            op.c < 0 ? nullptr : where[op.c], const_cast<void*>(where[op.out]), n, op.immediate);
  }
}

const void* TileBody::value(const std::byte* scratch, int r) const {
  return reinterpret_cast<void* const*>(scratch)[results_[static_cast<size_t>(r)]];
}

}  // namespace mtf
