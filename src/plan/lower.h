// From a node (or instruction) to the call of its kernel.
#pragma once

#include <span>

#include "plan/program.h"

namespace mtf {

// The layout of an op's iteration space: the axes that split each of its dims.
struct OpLayout {
  std::vector<DimId> dims;
  std::vector<AxisList> split;

  const AxisList& of(DimId) const;  // empty for a dim that it lacks
  AxisList& of(DimId);
};

// The kernel call of a node computed under this layout, without its views. `blocks` of summed dims
// are local counts: those of a dim whose split is exact are divided by its axes.
KernelCall lower(const Graph&, const Node&, const Mesh&, const OpLayout&);

// Whether every block of a summed dim lies on one rank: the axes' sizes are powers of two whose
// product divides the dim's block count. The block dim is then split as the dim is.
bool exact_split(const Graph&, const Node&, DimId summed, const Mesh&, const AxisList&);

// The dims that a node sums, outermost first, and the block dim that keeps a summed dim's blocks
// (index -1 if it has one block).
std::span<const DimId> summed_dims(const Node&);
DimId block_image(const Node&, DimId summed);

// The call of a Compute instruction with the views of one rank.
KernelCall bind_call(const Program&, const Instruction&, int rank);
View view_of(const Program&, const Value&, int rank);

}  // namespace mtf
