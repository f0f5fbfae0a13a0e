// Ops that compare or accumulate along one dim, which one device must hold whole.
#include <fmt/format.h>

#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Operands = std::span<const NodeId>;

Role whole_over(const Graph&, const Node& node, DimId d) {
  const DimId* to = node.attrs.get<DimId>("to");
  return d == *node.attrs.get<DimId>("over") || (to && d == *to) ? Role::whole : Role::kept;
}

std::optional<Type> infer_arg(Builder& b, Operands x, Attrs& attrs) {
  const DimId over = *attrs.get<DimId>("over");
  if (!b.require_dims(x[0], {&over, 1}))
    return std::nullopt;
  return Type{{dims_without(b.shape(x[0]).dims, {&over, 1})}, DType::i32};
}

std::optional<Type> infer_top_k(Builder& b, Operands x, Attrs& attrs) {
  const DimId over = *attrs.get<DimId>("over"), to = *attrs.get<DimId>("to");
  if (!b.require_dims(x[0], {&over, 1}))
    return std::nullopt;
  const Dim &many = b.graph[to], &all = b.graph[over];
  if (many.true_size() > all.true_size() || many.size > all.size) {
    b.error_at("to", Code::model_shape, fmt::format("{} is more than {}", many.show(), all.show()));
    return std::nullopt;
  }
  Shape shape = b.shape(x[0]);
  shape.dims[static_cast<size_t>(shape.find(over))] = to;
  return Type{shape, DType::i32};
}

std::optional<Type> infer_along(Builder& b, Operands x, Attrs& attrs) {
  const DimId over = *attrs.get<DimId>("over");
  if (!b.require_dims(x[0], {&over, 1}))
    return std::nullopt;
  return b[x[0]].type;
}

// What comes after is what all sums less what comes before.
std::vector<NodeId> gradient_cumsum(const GradientArgs& g) {
  const DimId over = *g.attrs.get<DimId>("over");
  const bool exclusive = g.attrs.get_or("exclusive", false);
  Expr dy = wide(Expr(g.b, g.dy));
  Expr before = apply("cumsum", dy, {{{"over", over}, {"exclusive", !exclusive}}});
  return {sum(dy, {over}) - before};
}

OpDef along(std::string_view name, std::string_view summary, decltype(OpDef::infer) infer,
            Neutral neutral) {
  return {.name = name,
          .summary = summary,
          .attributes = {{"over", AttrKind::dim, "the dim", true}},
          .infer = infer,
          .role = whole_over,
          .neutral = neutral,
          .flops_per_point = 0,
          .kernel = name};
}

}  // namespace

std::span<const OpDef> order_ops() {
  static const std::vector<OpDef> ops = [] {
    OpDef argmax = along("argmax", "The lowest index of the greatest element; NaN wins.", infer_arg,
                         Neutral::lowest);
    OpDef argmin = along("argmin", "The lowest index of the least element; NaN wins.", infer_arg,
                         Neutral::highest);
    OpDef top_k = along("top_k", "The indices of the greatest elements, in descending order.",
                        infer_top_k, Neutral::lowest);
    top_k.attributes.push_back({"to", AttrKind::dim, "the new dim; its size is how many", true});
    OpDef sort =
        along("sort", "The elements in ascending order; no gradient.", infer_along, Neutral::end);
    sort.attributes.push_back({"descending", AttrKind::boolean, "the other way round"});
    OpDef cumsum =
        along("cumsum", "The sum of the elements up to each.", infer_along, Neutral::zero);
    cumsum.attributes.push_back({"exclusive", AttrKind::boolean, "without the element itself"});
    cumsum.gradient = gradient_cumsum;
    cumsum.flops_per_point = 1;
    return std::vector<OpDef>{argmax, argmin, top_k, sort, cumsum};
  }();
  return ops;
}

}  // namespace mtf
