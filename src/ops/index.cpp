// Lookups by index and their gradient. A lookup is no sum: split along the looked-up dim, every
// rank but one contributes the absent term, in any order.
#include <fmt/format.h>

#include "ops/blocks.h"
#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Dims = std::vector<DimId>;
using Operands = std::span<const NodeId>;
using Gradients = std::vector<NodeId>;

bool require_ids(Builder& b, NodeId ids) {
  if (b.dtype(ids) == DType::i32)
    return true;
  b.error(Code::model_dtype, fmt::format("indices must be i32, not {} {}", name_of(b.dtype(ids)),
                                         b.graph.show(b.shape(ids))));
  return false;
}

// [table, ids] -> the dims of ids, then those of the table but `over` that ids lack.
std::optional<Type> infer_gather(Builder& b, Operands x, Attrs& attrs) {
  const DimId over = *attrs.get<DimId>("over");
  if (!require_ids(b, x[1]) || !b.require_dims(x[0], {&over, 1}))
    return std::nullopt;
  Shape shape = b.shape(x[1]);
  if (shape.has(over)) {
    b.error_at(over, Code::model_shape,
               fmt::format("the indices {} have the dim '{}' that they look up",
                           b.graph.show(shape), b.graph[over].name));
    return std::nullopt;
  }
  for (DimId d : dims_without(b.shape(x[0]).dims, b.shape(x[1]).dims))
    if (d != over)
      shape.dims.push_back(d);
  return Type{shape, b.dtype(x[0])};
}

// Dims that ids have and the table lacks are summed; without any, each index marks one element.
Gradients gradient_gather(const GradientArgs& g) {
  Builder& b = g.b;
  const DimId over = *g.attrs.get<DimId>("over");
  const NodeId table = g.inputs[0], ids = g.inputs[1];
  const Dims summed = dims_without(b.shape(ids).dims, b.shape(table).dims);
  if (summed.empty()) {
    Expr here = equal(iota(b, over, DType::i32), Expr(b, ids));
    return {where(here, Expr(b, g.dy), 0.0), {}};
  }
  return {b.add("scatter_add", {ids, g.dy}, {{{"to", over}, {"over", summed}}}), {}};
}

Role role_gather(const Graph&, const Node& node, DimId d) {
  return d == *node.attrs.get<DimId>("over") ? Role::reduced : Role::kept;
}

// [ids, x] -> block dims (outer first), `to`, then the dims of x and ids that are not summed.
std::optional<Type> infer_scatter_blocks(Builder& b, Operands x, Attrs& attrs) {
  const Dims over = *attrs.get<Dims>("over");
  Type type{{}, b.numerics.statistics()};
  for (const auto& [d, block] : *attrs.get<DimPairs>("blocks"))
    type.shape.dims.push_back(block);
  type.shape.dims.push_back(*attrs.get<DimId>("to"));
  for (NodeId operand : x)
    for (DimId d : dims_without(b.shape(operand).dims, over))
      if (!type.shape.has(d))
        type.shape.dims.push_back(d);
  return type;
}

Role role_scatter(const Graph&, const Node& node, DimId d) {
  return contains(*node.attrs.get<Dims>("over"), d) ? Role::reduced : Role::kept;
}

NodeId build_scatter_add(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>&) {
  if (!attrs.find("over"))
    attrs.set("over", b.shape(x[0]).dims);
  const Dims over = *attrs.get<Dims>("over");
  if (!require_ids(b, x[0]) || !b.require_dims(x[0], over))
    return {};
  const DimPairs blocks = product_blocks(b, over);
  NodeId rows = b.add("scatter_blocks", {x[0], x[1]},
                      {{{"to", *attrs.get<DimId>("to")}, {"over", over}, {"blocks", blocks}}});
  return b.fold(rows, blocks);
}

Gradients gradient_scatter_add(const GradientArgs& g) {
  const DimId to = *g.attrs.get<DimId>("to");
  NodeId rows = g.b.add("gather", {g.dy, g.inputs[0]}, {{{"over", to}}});
  return {{}, g.b.sum_to(rows, g.b.shape(g.inputs[1]))};
}

NodeId build_embedding(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>&) {
  NodeId rows = b.add("gather", {x[0], x[1]}, {{{"over", *attrs.get<DimId>("over")}}});
  return b.cast(rows, b.numerics.compute);
}

NodeId build_one_hot(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>&) {
  if (!require_ids(b, x[0]))
    return {};
  Expr here = equal(Expr(b, x[0]), iota(b, *attrs.get<DimId>("to"), DType::i32));
  return cast(here, attrs.get_or("dtype", b.numerics.compute));
}

std::optional<Type> infer_iota(Builder&, Operands, Attrs& attrs) {
  return Type{{{*attrs.get<DimId>("over")}}, DType::i32};
}

}  // namespace

std::span<const OpDef> index_ops() {
  static const OpDef ops[] = {
      {.name = "gather",
       .summary = "The elements of the first operand that the second, i32, names along a dim; "
                  "dims in both are matched.",
       .min_operands = 2,
       .max_operands = 2,
       .attributes = {{"over", AttrKind::dim, "the dim that is looked up", true}},
       .infer = infer_gather,
       .gradient = gradient_gather,
       .role = role_gather,
       .order_free = true,
       .lookup = true,
       .flops_per_point = 0,
       .kernel = "gather"},
      {.name = "scatter_blocks",
       .summary = "Adds rows to the places that indices name, in canonical blocks that it keeps.",
       .min_operands = 2,
       .max_operands = 2,
       .infer = infer_scatter_blocks,
       .role = role_scatter,
       .internal = true,
       .kernel = "scatter_add"},
      {.name = "scatter_add",
       .summary =
           "[indices, x]: adds each element of x to the place along a new dim that its index "
           "names; in f32.",
       .min_operands = 2,
       .max_operands = 2,
       .attributes = {{"to", AttrKind::dim, "the new dim", true},
                      {"over", AttrKind::dims, "dims to sum; by default those of the indices"}},
       .build = build_scatter_add,
       .gradient = gradient_scatter_add},
      {.name = "embedding",
       .summary = "[table, ids]: the rows of a table that ids name, in the compute type.",
       .min_operands = 2,
       .max_operands = 2,
       .attributes = {{"over", AttrKind::dim, "the dim of the table that ids index", true}},
       .build = build_embedding},
      {.name = "one_hot",
       .summary = "1 where the index along a new dim is the operand, else 0.",
       .attributes = {{"to", AttrKind::dim, "the new dim", true},
                      {"dtype", AttrKind::dtype,
                       "dtype of the result; the compute type by default"}},
       .build = build_one_hot},
      {.name = "iota",
       .summary = "The index along a dim, i32.",
       .min_operands = 0,
       .max_operands = 0,
       .attributes = {{"over", AttrKind::dim, "the dim", true}},
       .infer = infer_iota,
       .flops_per_point = 0,
       .kernel = "iota"},
  };
  return ops;
}

}  // namespace mtf
