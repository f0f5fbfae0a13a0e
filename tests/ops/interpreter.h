// The meaning of primitive nodes, node by node in f64 with plain loops over multi-indices: what
// tests compare everything else with. No rounding to a node's dtype, no blocks' order, no kernels.
#pragma once

#include <map>
#include <string>

#include "ops/builder.h"

namespace mtf::testing {

// Row-major over `dims`. Integers and booleans are stored as doubles too.
struct Tensor {
  std::vector<DimId> dims;
  std::vector<double> data;
};

// The value of every node of the graph; `leaves` gives inputs, parameters and state by name.
// Random nodes draw from a hash of path and index (not the kernels' numbers, but as repeatable).
std::vector<Tensor> interpret(const Graph&, const std::map<std::string, Tensor>& leaves);

// x with its dims in another order.
Tensor transposed(const Graph&, const Tensor& x, const std::vector<DimId>& dims);

}  // namespace mtf::testing
