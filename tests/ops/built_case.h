// A row of the table of op cases as a graph with random leaves.
#pragma once

#include "ops/cases.h"
#include "ops/interpreter.h"

namespace mtf::testing {

struct Built {  // one case: sum(weights * result) and its gradients
  Graph graph;
  Numerics numerics;
  Diagnostics diagnostics;
  std::map<std::string, Tensor> leaves;
  std::vector<NodeId> parameters, gradients;
  NodeId result, sum;
};

// Dims that are padded to twice their size, and what floats hold in the padding: 0, as parameters
// do, or else garbage, of values that nothing is known of.
struct Padding {
  std::string dims;  // "batch length"
  double garbage = 0;
};
inline const std::string all_dims =
    "batch length memory d_model wide heads group d_head class chosen long joined";

// x of a graph with padded dims, without its padding, and the other way round.
Tensor without_padding(const Graph&, const Tensor& x);
Tensor with_padding(const Graph&, const Tensor& x, double fill);

// In f64. `numerics.blocks_of` of `out` holds; without padding a diagnostic fails the running test.
void build(const Case&, Built& out, const Padding& = {});

}  // namespace mtf::testing
