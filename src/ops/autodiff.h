// Reverse differentiation on the Graph, before any layout is known.
#pragma once

#include "ops/builder.h"

namespace mtf {

// Adds the nodes of d sum / d w for every w in `wrt`; `sum` is a scalar. Composites with a gradient
// use it and never look at their parts. Nodes are of Phase::backward and carry the origin of the
// forward step; the final gradient of each value has Node::gradient_of set and the value's dtype
// (f32 or f64 for parameters). Index -1 where no gradient flows.
// Contributions to one value are added in order of use, products per block (docs/NUMERICS.md 3).
std::vector<NodeId> differentiate(Builder&, NodeId sum, std::span<const NodeId> wrt);

}  // namespace mtf
