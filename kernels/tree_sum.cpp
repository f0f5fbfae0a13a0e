// tree_sum: folds block dims by the binary tree over their index, innermost of the list first. It
// is a sum whose blocks are single elements.
#include "elementwise.h"
#include "table.h"

namespace mtf {

Kernel prepare_tree_sum(const KernelCall& call, Isa isa) {
  KernelCall sum = call;
  for (Reduced& r : sum.reduced) {
    r.kept = {};
    for (size_t i = 0; i < call.inputs[0].dims.size(); ++i)
      if (call.inputs[0].dims[i] == r.dim)
        r.blocks = call.inputs[0].size[i];
  }
  return prepare_reduce(sum, isa);
}

}  // namespace mtf
