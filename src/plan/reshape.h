// How a split passes through a reshape (docs/COST_MODEL.md).
#pragma once

#include "plan/lower.h"

namespace mtf {

// For a node whose attributes "from" and "to" list all dims of operand and result in logical order:
// gives result dims the axes of the operand dims that start at the same prefix product, and makes
// whole the operand dims whose split cannot be carried. Leaves other nodes alone.
void follow_reshape(const Program&, const Node&, OpLayout&);

}  // namespace mtf
