// Makes nodes: checks operands against the op, infers types, decides blocks, records origins.
#pragma once

#include <initializer_list>
#include <map>

#include "ops/op.h"

namespace mtf {

// numerics: of the spec.
struct Numerics {
  DType compute = DType::f32;  // f32, bf16 or f64
  bool fast = false;           // exact: fast
  bool exact_required = false; // exact: bitwise written out
  int64_t blocks = 8;          // the usual count (a bare number in numerics.blocks raises it)
  std::map<std::string, int64_t, std::less<>> blocks_of;  // by dim name; wins over all rules

  DType statistics() const { return compute == DType::f64 ? DType::f64 : DType::f32; }
};

class Builder {
 public:
  Builder(Graph& g, const Numerics& n, Diagnostics& d) : graph(g), numerics(n), diagnostics(d) {}

  Graph& graph;
  const Numerics& numerics;
  Diagnostics& diagnostics;
  Origin origin;                 // given to every node made from here on
  Phase phase = Phase::forward;
  int32_t composite = -1;

  // Adds the node(s) of an op. Returns index -1 after a diagnostic; nodes with such an operand
  // fail silently, so that one mistake is reported once.
  NodeId add(const OpDef& op, std::vector<NodeId> operands, Attrs attrs = {});
  NodeId add(std::string_view op, std::initializer_list<NodeId> operands, Attrs attrs = {});

  const Node& operator[](NodeId id) const { return graph[id]; }
  const Shape& shape(NodeId id) const { return graph[id].type.shape; }
  DType dtype(NodeId id) const { return graph[id].type.dtype; }

  // Leaves. `kind` is "input", "parameter" or "state"; the name is unique among its kind.
  NodeId leaf(std::string_view kind, std::string name, Type type);
  NodeId constant(double value, DType dtype);

  // Sums with the blocks of partitioning.md 4.2 and their trees: what ops and gradients use.
  NodeId einsum(NodeId a, NodeId b, std::vector<DimId> result_dims);  // f32 (f64) result
  NodeId reduce_sum(NodeId x, std::vector<DimId> over);
  NodeId sum_to(NodeId x, const Shape& shape);  // sums the dims that `shape` lacks
  NodeId cast(NodeId x, DType dtype);           // x itself if it has that dtype

  // Reports a mistake at the current origin.
  void error(Code code, std::string message);
};

}  // namespace mtf
