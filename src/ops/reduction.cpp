// Reductions over named dims: the primitives sum (in canonical blocks that it keeps), max and min,
// and the ops that specs write. The gradient of max and min goes to the lowest index among ties.
#include <fmt/format.h>

#include "ops/blocks.h"
#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Dims = std::vector<DimId>;
using Operands = std::span<const NodeId>;
using Gradients = std::vector<NodeId>;

const Dims& over_of(const Attrs& attrs) {
  return *attrs.get<Dims>("over");
}

Role reduced_over(const Graph&, const Node& node, DimId d) {
  return contains(over_of(node.attrs), d) ? Role::reduced : Role::kept;
}

// Result dims: block dims (outer first), then those of the operand that are left. f32 or f64.
std::optional<Type> infer_sum(Builder& b, Operands x, Attrs& attrs) {
  Type type{{}, b.numerics.statistics()};
  for (const auto& [d, block] : *attrs.get<DimPairs>("blocks"))
    type.shape.dims.push_back(block);
  for (DimId d : dims_without(b.shape(x[0]).dims, over_of(attrs)))
    type.shape.dims.push_back(d);
  attrs.set("reduction", std::string("sum"));
  return type;
}

template <Reduction reduction>
std::optional<Type> infer_extreme(Builder& b, Operands x, Attrs& attrs) {
  attrs.set("reduction", std::string(reduction == Reduction::max ? "max" : "min"));
  return Type{{dims_without(b.shape(x[0]).dims, over_of(attrs))}, b.dtype(x[0])};
}

// What a spec's reduction yields when it does not say: the operand's dtype if that is a float.
DType result_dtype(Builder& b, NodeId x, const Attrs& attrs) {
  DType own = b.dtype(x);
  return attrs.get_or("dtype", is_float(own) ? own : b.numerics.statistics());
}

NodeId build_sum(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>&) {
  if (!b.require_dims(x[0], over_of(attrs)))
    return {};
  DType type = result_dtype(b, x[0], attrs);
  NodeId terms = is_float(b.dtype(x[0])) ? x[0] : b.cast(x[0], b.numerics.statistics());
  const DimPairs blocks = sum_blocks(b, over_of(attrs));
  NodeId sums = b.add("sum", {terms}, {{{"over", over_of(attrs)}, {"blocks", blocks}}});
  return b.cast(b.fold(sums, blocks), type);
}

Gradients gradient_sum(const GradientArgs& g) {
  if (!is_float(g.b.dtype(g.inputs[0])))
    return {NodeId{}};
  return {g.b.broadcast(g.dy, g.b.shape(g.inputs[0]))};
}

double count(Builder& b, const Dims& dims) {
  return static_cast<double>(b.graph.true_elements({dims}));
}

NodeId build_mean(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>&) {
  if (!b.require_dims(x[0], over_of(attrs)))
    return {};
  DType type = result_dtype(b, x[0], attrs);
  Expr total = sum(Expr(b, x[0]), over_of(attrs));
  return cast(total / count(b, over_of(attrs)), type);
}

Gradients gradient_mean(const GradientArgs& g) {
  if (!is_float(g.b.dtype(g.inputs[0])))
    return {NodeId{}};
  Expr each = wide(Expr(g.b, g.dy)) / count(g.b, over_of(g.attrs));
  return {g.b.broadcast(each, g.b.shape(g.inputs[0]))};
}

NodeId build_max(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>&) {
  if (!b.require_dims(x[0], over_of(attrs)))
    return {};
  return b.add("max", {x[0]}, {{{"over", over_of(attrs)}}});
}

NodeId build_min(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>&) {
  if (!b.require_dims(x[0], over_of(attrs)))
    return {};
  return b.add("min", {x[0]}, {{{"over", over_of(attrs)}}});
}

// The row-major index over `dims`, i32.
Expr index_over(Builder& b, const Dims& dims) {
  Expr index = iota(b, dims[0], DType::i32);
  for (size_t i = 1; i < dims.size(); ++i)
    index = index * static_cast<double>(b.graph[dims[i]].size) + iota(b, dims[i], DType::i32);
  return index;
}

// dx = dy at the first element equal to the extreme, found as a minimum so that any order and any
// split gives the same.
Gradients gradient_extreme(const GradientArgs& g) {
  const Dims& over = over_of(g.attrs);
  if (!is_float(g.b.dtype(g.inputs[0])) || over.empty())
    return {over.empty() ? g.dy : NodeId{}};
  Expr x(g.b, g.inputs[0]), y(g.b, g.y), dy(g.b, g.dy);
  Expr index = index_over(g.b, over);
  const auto none = static_cast<double>(g.b.graph.elements({over}));
  Expr candidate = where(equal(x, y), index, none);
  Expr first = apply("min", candidate, {{{"over", over}}});
  return {where(equal(index, first), dy, 0.0)};
}

bool require_bool(Builder& b, NodeId x) {
  if (b.dtype(x) == DType::boolean)
    return true;
  b.error(Code::model_dtype, fmt::format("takes a bool operand, not {}", name_of(b.dtype(x))));
  return false;
}

NodeId build_all(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>& saved) {
  return require_bool(b, x[0]) ? build_min(b, x, attrs, saved) : NodeId{};
}
NodeId build_any(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>& saved) {
  return require_bool(b, x[0]) ? build_max(b, x, attrs, saved) : NodeId{};
}

const AttrDef over{"over", AttrKind::dims, "the dims to reduce", true};
const AttrDef dtype{"dtype", AttrKind::dtype, "dtype of the result; by default the operand's"};

OpDef primitive(std::string_view name, std::string_view summary, decltype(OpDef::infer) infer,
                Reduction reduction, Neutral neutral) {
  const bool is_sum = reduction == Reduction::sum;
  return {.name = name,
          .summary = summary,
          .infer = infer,
          .role = reduced_over,
          .reduction = reduction,
          .neutral = neutral,
          .internal = true,
          .order_free = !is_sum,
          .linear = is_sum,
          .kernel = "reduce"};
}

}  // namespace

std::span<const OpDef> reduction_ops() {
  static const OpDef ops[] = {
      primitive("sum", "Sums over dims in canonical blocks that it keeps.", infer_sum,
                Reduction::sum, Neutral::zero),
      primitive("max", "The greatest element over dims; NaN wins.", infer_extreme<Reduction::max>,
                Reduction::max, Neutral::lowest),
      primitive("min", "The least element over dims; NaN wins.", infer_extreme<Reduction::min>,
                Reduction::min, Neutral::highest),
      {.name = "reduce_sum",
       .summary = "The sum over dims.",
       .attributes = {over, dtype},
       .build = build_sum,
       .gradient = gradient_sum},
      {.name = "reduce_mean",
       .summary = "The sum over dims, divided by their size.",
       .attributes = {over, dtype},
       .build = build_mean,
       .gradient = gradient_mean},
      {.name = "reduce_max",
       .summary =
           "The greatest element over dims; its gradient goes to the lowest index among ties.",
       .attributes = {over},
       .build = build_max,
       .gradient = gradient_extreme},
      {.name = "reduce_min",
       .summary = "The least element over dims; its gradient goes to the lowest index among ties.",
       .attributes = {over},
       .build = build_min,
       .gradient = gradient_extreme},
      {.name = "reduce_all",
       .summary = "Whether all are true.",
       .attributes = {over},
       .build = build_all},
      {.name = "reduce_any",
       .summary = "Whether any is true.",
       .attributes = {over},
       .build = build_any},
  };
  return ops;
}

}  // namespace mtf
