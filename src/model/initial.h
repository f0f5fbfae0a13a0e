// Initial values of parameters: from `init:` in the spec, or from the first product that reads one.
#pragma once

#include "model/attributes.h"

namespace mtf {

struct Init {
  enum class Kind : uint8_t { normal, uniform, constant };
  Kind kind = Kind::constant;
  double value = 0;  // normal: std of the truncated normal; uniform: in (-value, value)
};

// {normal: std}, {fan_in: dims}, {fan_avg: [dims, dims]}, {uniform: a} or {constant: c}. fan_in is
// a normal of std 1/sqrt(product of the dims); fan_avg one of std sqrt(2/(in + out)) (Glorot and
// Bengio 2010). nullopt after a diagnostic.
std::optional<Init> read_init(const YamlNode& node, const Graph& graph, const FindDim& find_dim,
                              Diagnostics& diagnostics);

// The default: 1/sqrt(product of the dims that the operands of an einsum have and its result
// lacks).
Init init_for_product(const Graph& graph, const std::vector<NodeId>& operands, NodeId result);

}  // namespace mtf
