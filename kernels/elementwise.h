// The parts of map and reduce: loops over short runs, chosen per instruction set; the body of a
// call lowered to such loops; the walk over operands of different dim orders.
#pragma once

#include <algorithm>
#include <array>

#include "scalar_ops.h"

namespace mtf {

// How a register is held in a tile: i32, u8 and boolean as int32_t, f32 and bf16 as float.
enum class Class : uint8_t { integer, single, twice };

constexpr Class class_of(DType t) {
  switch (t) {
    case DType::f32:
    case DType::bf16:
      return Class::single;
    case DType::f64:
      return Class::twice;
    default:
      return Class::integer;
  }
}
inline constexpr DType plain_dtype[] = {DType::i32, DType::f32, DType::f64};  // by class
constexpr int64_t size_of(Class c) {
  return c == Class::twice ? 8 : 4;
}
constexpr bool held_as_stored(DType t) {
  return size_of(t) == size_of(class_of(t));
}

// out[i] = op(a[i], b[i], c[i]); operands and out may be the same array.
using StepLoop = void (*)(const void* a, const void* b, const void* c, void* out, int64_t n,
                          double immediate);

enum class Folding : uint8_t { sum, max, min };

// One way of folding in one class. Sums start from -0.0 (integers: 0), which adds nothing.
struct FoldLoops {
  StepLoop combine;  // out = a + b
  void (*clear)(void* out, int64_t n);
  // chains[j] += v[i] for every i = j mod 16.
  void (*chains)(void* chains, const void* v, int64_t n);
  // out[k] = the 16 chains of v[k * length, (k + 1) * length), folded; `count` of them.
  void (*leaves)(void* out, const void* v, int64_t count, int64_t length);
  // [groups, count, width] to [groups, width], in place, each group by the binary tree.
  void (*tree)(void* rows, int64_t groups, int64_t count, int64_t width);
};

struct Loops {
  StepLoop step[scalar_count][3];  // by op and class of arithmetic; null: not defined there
  StepLoop convert[3][6];          // from a class to a dtype, held in the dtype's class
  // Between memory (stride in elements) and a tile.
  void (*load[6])(void* tile, const void* from, int64_t stride, int64_t n);
  void (*store[6])(void* to, int64_t stride, const void* tile, int64_t n);
  FoldLoops fold[3][3];  // by folding and class
};
const Loops& loops_of(Isa);

// Loops nested over `size`, outermost first, and how far each operand moves in each, in elements.
struct Nest {
  std::vector<int64_t> size;
  std::vector<std::vector<int64_t>> stride;  // [operand][loop]
  std::vector<int64_t> base;                 // [operand]
  // [operand], set by collapse: the innermost loops that it walks as one, as first loop and extent.
  std::vector<std::pair<int, int64_t>> run;

  int64_t elements() const;
  void add(int64_t extent, const std::vector<int64_t>& strides);
  // Drops loops of one step and joins loops that every operand walks as one; at least one remains.
  void collapse();
  int64_t offset(int o, int64_t at) const;  // of operand `o` at flattened position `at`
  bool fixed(int o) const;                  // does not move

  int64_t step(int o) const { return stride[static_cast<size_t>(o)].back(); }  // within a run
  int64_t left_in_run(int o, int64_t at) const {
    const int64_t extent = run[static_cast<size_t>(o)].second;
    return extent - at % extent;
  }

  // f(offset, start, m) for every run of operand `o` within [at, at + n), which starts at at +
  // start.
  template <class F>
  void for_runs(int o, int64_t at, int64_t n, F f) const {
    const auto [first, extent] = run[static_cast<size_t>(o)];
    for (int64_t done = 0; done < n;) {
      int64_t where = offset(o, at + done), m = std::min(n - done, left_in_run(o, at + done));
      f(where, done, m);
      done += m;
      if (first == 0 || done == n)
        continue;
      // The next runs, of which the loop around them is at step k, are a fixed distance away.
      const size_t around = static_cast<size_t>(first) - 1;
      where -= (extent - m) * step(o) * (done == m);
      for (int64_t k = (at + done) / extent % size[around]; k > 0 && k < size[around] && done < n;
           ++k) {
        where += stride[static_cast<size_t>(o)][around];
        m = std::min(n - done, extent);
        f(where, done, m);
        done += m;
      }
    }
  }
};

// How far `view` moves when `dim` advances by one; 0 if it lacks the dim.
int64_t stride_of(const View& view, DimId dim);

// A body lowered to loops over tiles. Value v < inputs is an input; the others are made by ops.
class TileBody {
 public:
  // The registers wanted as results, each rounded to a dtype.
  struct Wanted {
    int reg;
    DType type;
  };
  TileBody(const std::vector<View>& inputs, const std::vector<BodyStep>&,
           const std::vector<Wanted>&, Isa);

  // What register `reg` of a body holds.
  static DType dtype_of(const std::vector<View>& inputs, const std::vector<BodyStep>&, int reg);

  int64_t bytes() const { return pointer_bytes() + slots_ * slot_bytes_; }  // of scratch
  // How many positions from `at` on to compute at once, at most `limit`.
  int64_t stretch(const Nest&, int64_t at, int64_t limit) const;

  // Once per thread and nest: constants, and inputs that do not move.
  void begin(std::byte* scratch, const Nest&, std::span<const std::byte* const> inputs) const;
  // Computes positions [at, at + n), n as `stretch` says. Result r is computed straight into
  // targets[r] where that is not null and possible; value(scratch, r) says where it is.
  void run(std::byte* scratch, const Nest&, std::span<const std::byte* const> inputs, int64_t at,
           int64_t n, void* const* targets) const;
  const void* value(const std::byte* scratch, int r) const;

 private:
  struct Value {
    Class held;
    bool constant = false;
    int slot = -1;
    int last_use = -1;  // index into ops_; past the last one for results; -1: unused
    int result = -1;    // which result it is, if computed for one
  };
  struct Op {
    StepLoop loop;
    int a, b, c, out;
    double immediate;
  };

  int64_t pointer_bytes() const {
    return (static_cast<int64_t>(values_.size()) * 8 + 63) / 64 * 64;
  }
  int add(StepLoop, Class held, std::array<int, 3> operands, double immediate = 0);
  int rounded(int value, DType from, DType to);
  int lower(const BodyStep&, const std::vector<int>& registers, const std::vector<DType>& dtypes);
  void want(const std::vector<int>& results);
  void place();
  bool is_input(int value) const { return value < static_cast<int>(types_.size()); }
  void load(std::byte* scratch, int input, const Nest&, const std::byte* from, int64_t at,
            int64_t n) const;

  const Loops& loops_;
  std::vector<DType> types_;  // of inputs
  std::vector<Value> values_;
  std::vector<Op> setup_, ops_;
  std::vector<int> results_;
  int64_t slots_ = 0, slot_bytes_ = 0, tile_ = 0;
  int last_input_use_ = -1;
  bool copies_inputs_ = false;  // an input is one of several results, which may overwrite it
};

[[noreturn]] void kernel_bug(const char* message);

}  // namespace mtf
