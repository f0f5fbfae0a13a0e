// A forward graph -> the graph that computes only new positions along a dim T and keeps what later
// positions need in caches. It follows from the roles of dims (docs/LANGUAGE.md); no model says
// anything about decoding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "graph/graph.h"

namespace mtf {

struct DecodeOptions {
  std::string along;      // T, a dim of the graph
  std::string tokens;     // the one input, which has T
  std::string output;     // whose values at the new positions are wanted, "logits"
  int64_t positions = 1;  // new positions of one run
};

// T and the past dims: those that renames of T, and of these, make.
std::vector<DimId> decoded_dims(const Graph& forward, DimId along);

// The name of the dim of new positions that a decode graph has in place of a decoded dim.
std::string new_positions(const std::string& dim);

// Scalar inputs of the result: "driver:position" (i32), the first new position, and "driver:count"
// (i32), how many of the new positions are real; caches are states named "cache:STEP". Its one
// output keeps the name. nullopt after a diagnostic that names the op which mixes positions in a
// way that cannot be decoded, or another input that the output depends on.
std::optional<Graph> decode_graph(const Graph& forward, const DecodeOptions&, Diagnostics&);

}  // namespace mtf
