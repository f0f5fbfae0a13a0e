// An op: what the spec calls it, what it does to each named dim, its gradient and its kernel, all
// in one block per op, in one file per family. Ops never mention mesh axes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/range.h"
#include "graph/graph.h"

namespace mtf {

enum class Role : uint8_t {
  kept,     // in the result too: may stay split
  reduced,  // folded away: splitting it leaves a partial result
  whole,    // the kernel needs all of it on one device
  stencil,  // needs neighbours: halo exchange
};

enum class Reduction : uint8_t { sum, max, min };

// What an op reads at the padded indices of dims that it does not keep, so that they change
// nothing.
enum class Neutral : uint8_t {
  zero,     // of sums: -0.0
  lowest,   // of maxima
  highest,  // of minima
  end,      // of a sorted order
};

// How an attribute is written in a step.
enum class AttrKind : uint8_t { boolean, integer, number, word, dim, dims, dim_map, dtype, text };

struct AttrDef {
  std::string_view name;
  AttrKind kind;
  std::string_view summary;
  bool required = false;
  Range range = {};                          // of an integer or a number
  std::vector<std::string_view> words = {};  // of a word
};

class Builder;

// What a gradient function is given: the node (or composite) whose result has gradient `dy`.
struct GradientArgs {
  Builder& b;
  NodeId dy;
  NodeId y;                    // the forward result
  std::vector<NodeId> inputs;  // its operands
  const Attrs& attrs;
  std::span<const NodeId> saved;  // of a composite
  std::vector<bool> wanted;       // by operand: does any gradient asked for depend on it?
};

// A primitive op is one node and has `infer`; a composite op has `build`, which makes primitive
// nodes (its definition) and may have its own `gradient`. Exactly one of the two is set.
struct OpDef {
  std::string_view name;
  std::string_view summary;  // one sentence; `mtf ops` and docs/OPS.md are printed from it
  int min_operands = 1, max_operands = 1;  // -1: any number
  std::vector<AttrDef> attributes = {};

  // Primitive: result type of operands and attributes; adds diagnostics through the builder and
  // returns nullopt if they do not fit. May add attributes (blocks, order of summed dims).
  std::optional<Type> (*infer)(Builder&, std::span<const NodeId> operands, Attrs&) = nullptr;
  // Composite: the result node; `saved` is what the gradient reads later.
  NodeId (*build)(Builder&, std::span<const NodeId> operands, Attrs&,
                  std::vector<NodeId>& saved) = nullptr;

  // One gradient per operand, index -1 where none flows. Null: no gradient flows through.
  std::vector<NodeId> (*gradient)(const GradientArgs&) = nullptr;

  Role (*role)(const Graph&, const Node&, DimId) = nullptr;  // null: every dim is kept
  Reduction reduction = Reduction::sum;                      // of reduced dims
  Neutral neutral = Neutral::zero;                           // of dims that are not kept
  bool internal = false;       // made by other ops only: no spec may name it
  bool random = false;         // draws numbers, new in each step: reads Builder::step in training
  bool order_free = false;     // equal bits however shards are combined: max, min, lookups, trees
  bool linear = false;         // sums pass through it unchanged in `fast` mode and where inexact
  bool name_only = false;      // rename, transpose: no work, no storage
  bool movement = false;       // runs where its input lies
  bool lookup = false;         // picks by index along its reduced dim, and 0 beyond its size
  bool in_place = false;       // result may overwrite an operand of its type
  double flops_per_point = 1;  // of the iteration space (contractions), operand or result elements
  std::string_view kernel = {};  // row of the kernel table: "map", "reduce", "product", ...
  Scalar scalar = Scalar::copy;  // for kernel "map"
};

// Ops of one kind, as their source file lists them.
struct OpFamily {
  std::string_view name;
  std::span<const OpDef> ops;
};

std::span<const OpFamily> op_families();
std::span<const OpDef* const> all_ops();  // in the order of the families
const OpDef* find_op(std::string_view name);

}  // namespace mtf
