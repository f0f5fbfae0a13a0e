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

// In f64. `numerics.blocks_of` of `out` holds; a diagnostic fails the running test.
void build(const Case&, Built& out);

}  // namespace mtf::testing
