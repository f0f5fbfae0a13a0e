// Makes nodes: checks operands against the op, infers types, decides blocks, records origins.
#pragma once

#include <initializer_list>
#include <map>
#include <tuple>

#include "ops/op.h"

namespace mtf {

// numerics: of the spec.
struct Numerics {
  DType compute = DType::f32;   // f32, bf16 or f64
  bool fast = false;            // exact: fast
  bool exact_required = false;  // exact: bitwise written out
  int64_t blocks = 8;           // the usual count (a bare number in numerics.blocks raises it)
  struct BlockCount {
    int64_t count = 0;
    SourceSpan where;  // in the spec
  };
  std::map<std::string, BlockCount, std::less<>> blocks_of;  // by dim name; wins over all rules

  DType statistics() const { return compute == DType::f64 ? DType::f64 : DType::f32; }
};

class Builder {
 public:
  Builder(Graph& g, const Numerics& n, Diagnostics& d) : graph(g), numerics(n), diagnostics(d) {}

  Graph& graph;
  const Numerics& numerics;
  Diagnostics& diagnostics;
  Origin origin;  // given to every node made from here on
  Phase phase = Phase::forward;
  int32_t composite = -1;  // the outermost composite being built
  DimId batch;             // summing it away by default is worth a warning; index -1: none
  bool training = true;    // false: dropout is the identity
  bool padded = false;     // examples from "driver:valid_examples" on do not count
  int64_t seed = 0;        // of random ops
  NodeId step;             // i32 scalar that random ops depend on; index -1: none

  // Adds the node(s) of an op. Returns index -1 after a diagnostic; nodes with such an operand
  // fail silently, so that one mistake is reported once.
  NodeId add(const OpDef& op, std::vector<NodeId> operands, Attrs attrs = {});
  NodeId add(std::string_view op, std::initializer_list<NodeId> operands, Attrs attrs = {});

  const Node& operator[](NodeId id) const { return graph[id]; }
  Shape shape(NodeId id) const { return id.index < 0 ? Shape{} : graph[id].type.shape; }
  DType dtype(NodeId id) const { return id.index < 0 ? DType::f32 : graph[id].type.dtype; }

  // Reports each attribute that the op requires and lacks; true if there is none. Operands may be
  // unknown (index -1).
  bool require_attributes(const OpDef& op, std::span<const NodeId> operands, const Attrs& attrs);

  // Leaves. `kind` is "input", "parameter" or "state"; the name is unique among its kind.
  NodeId leaf(std::string_view kind, std::string name, Type type);
  NodeId constant(double value, DType dtype);

  // Bools over the batch dim: does the example count? Index -1 if x lacks that dim, or if all do.
  NodeId counted_examples(NodeId x);

  // Sums with the blocks of docs/NUMERICS.md 2 and their trees: what ops and gradients use.
  // A product of two operands cast to the compute type, in f32 (f64). The summed dims are those of
  // the operands that are not kept, in order of first appearance; `one_chain` cuts none of them.
  NodeId einsum(NodeId a, NodeId b, std::vector<DimId> result_dims, bool one_chain = false);
  // The same with blocks given and kept, their dims first in the result; operands as they are.
  NodeId contract(NodeId a, NodeId b, std::vector<DimId> over, std::vector<DimId> result_dims,
                  DimPairs blocks);
  NodeId fold(NodeId x, const DimPairs& blocks);  // tree sums of block dims, the innermost first
  NodeId reduce_sum(NodeId x, std::vector<DimId> over);  // f32 (f64) result
  NodeId sum_to(NodeId x, const Shape& shape);           // sums the dims that `shape` lacks
  NodeId broadcast(NodeId x, const Shape& shape);        // x itself if it has those dims
  NodeId cast(NodeId x, DType dtype);                    // x itself if it has that dtype

  // x with `absent` at the padded indices of these of its dims; x itself if it holds that already.
  NodeId mask(NodeId x, std::span<const DimId> dims, double absent);

  // Where the spec writes the attributes of the op that is being made, and the dims in them.
  std::vector<std::pair<std::string_view, SourceSpan>> written;
  std::vector<std::pair<DimId, SourceSpan>> named;

  // Reports a mistake at the current origin, once; `message` follows the name of the op.
  void error(Code code, const std::string& message, Help help = {});
  // The same where the attributes name this dim (last), if they do.
  void error_at(DimId, Code code, const std::string& message, Help help = {});
  void error_at(std::string_view attribute, Code code, const std::string& message, Help help = {});
  // What dim is meant by a name that stands at a dim of the attributes: one of these, of operands.
  Help suggest_dim(DimId, std::span<const NodeId> operands) const;
  // Reports each dim that x lacks; true if it has them all.
  bool require_dims(NodeId x, std::span<const DimId> dims);
  // Reports attributes low > high; true if they are in order.
  bool require_order(double low, double high);
  // Reports a dim that stands twice; true if none does.
  bool require_distinct(std::span<const DimId> dims);
  // Reports a padded dim along which an op moves elements; true if none is padded.
  bool require_unpadded(std::span<const DimId> dims);

 private:
  const OpDef* op_ = nullptr;  // what the spec wrote, for messages

  bool check_call(const OpDef& op, const std::vector<NodeId>& operands);
  Help help_for(const AttrDef& missing, std::span<const NodeId> operands) const;
  SourceSpan place_of(DimId) const;
  bool check_shape(const Shape& shape);
  NodeId add_node(const OpDef& op, std::vector<NodeId> operands, Attrs attrs);
  NodeId add_composite(const OpDef& op, std::vector<NodeId> operands, Attrs attrs);
  void read_parameters_in_compute_type(std::vector<NodeId>& operands);
  bool moves_no_padding(const Node& node);
  void mask_operands(Node& node);
  NodeId mask_unknown_indices(NodeId lookup);
  bool holds(NodeId x, DimId d, double absent) const;

  using MaskKey = std::tuple<NodeId, std::vector<DimId>, uint64_t, Phase>;
  std::map<MaskKey, NodeId> masked_;  // by value, dims, bits of `absent` and phase
};

// Dims of `of` without those of `without`.
std::vector<DimId> dims_without(std::span<const DimId> of, std::span<const DimId> without);
bool contains(std::span<const DimId> dims, DimId d);

}  // namespace mtf
