// A product call with the names gone: three index spaces (batch, rows, columns) with the strides of
// every operand, and the order of summation as a flat schedule of leaves (docs/NUMERICS.md).
// Kept block dims are batch dims here: each keeps its own sum.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernel.h"

namespace mtf {

// A row-major index space laid over memory: index (i0, i1, ...) is at sum of i * stride elements.
// Neighbouring dims that step as one are merged, so that most spaces have a single axis.
class Space {
 public:
  struct Axis {
    int64_t size, stride;
  };
  static constexpr int max_axes = 24;

  void append(int64_t size, int64_t stride);  // a new innermost axis
  int64_t size() const;
  int64_t offset(int64_t index) const;
  // Offsets of the elements [begin, begin + count).
  void offsets(int64_t begin, int64_t count, int64_t* out) const;
  // Does the last axis step by one element, over at least `run` elements?
  bool streams(int64_t run) const;
  // Calls f(first element's offset, stride, count) for the runs that make up [begin, begin +
  // count).
  template <class F>
  void runs(int64_t begin, int64_t count, F f) const;

 private:
  int rank_ = 0;
  std::array<Axis, max_axes> axes_{};
};

// One chain of fused multiply-adds. When it is done, `merges` times the sum waiting last is added
// to its left; then it waits itself.
struct Leaf {
  int64_t first;  // index of its first term in the k spaces
  int32_t term;
  int32_t length;
  int32_t merges;
};

inline constexpr int64_t longest_leaf = 256;

// Where one operand of a product, or the result, lies in each index space.
struct Placement {
  Space batch, rows, columns;
};

struct ContractionTerm {
  int a, b;              // inputs; rows step through a, columns through b
  Placement at_a, at_b;  // at_a.columns and at_b.rows stand still
  Space k_a, k_b;        // in order of summation, leaf after leaf
};

struct Contraction {
  int64_t batch = 1, rows = 1, columns = 1, depth = 0;  // depth: terms of one sum
  std::vector<ContractionTerm> terms;
  std::vector<Leaf> leaves;
  Placement result;
  std::vector<DimId> order;  // of the result's dims: batch, rows, columns
};

// Rows and columns are chosen so that the result's innermost dim is a column, or, where one side
// has few elements (`few_rows` or less), so that it is the rows. Aborts on dims that fit no role.
Contraction contraction_of(const KernelCall&, int64_t few_rows);

template <class F>
void Space::runs(int64_t begin, int64_t count, F f) const {
  const Axis last = rank_ ? axes_[static_cast<size_t>(rank_ - 1)] : Axis{1, 0};
  while (count > 0) {
    const int64_t within = begin % last.size;
    const int64_t run = std::min(count, last.size - within);
    f(offset(begin), last.stride, run);
    begin += run;
    count -= run;
  }
}

}  // namespace mtf
