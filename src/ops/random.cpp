// Random numbers as functions of (seed, step, path, global row-major index over the declared dims):
// the same in every layout, in recomputation, fused or not.
#include <fmt/format.h>

#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Dims = std::vector<DimId>;
using Operands = std::span<const NodeId>;

// Operand: the step, an i32 scalar, or none. The seed is the builder's and the path the origin's,
// unless the attributes say otherwise.
std::optional<Type> infer_draw(Builder& b, Operands, Attrs& attrs) {
  if (!attrs.find("seed"))
    attrs.set("seed", b.seed);
  if (!attrs.find("path"))
    attrs.set("path", b.origin.scope);
  return Type{{*attrs.get<Dims>("order")}, attrs.get_or("dtype", b.numerics.statistics())};
}

NodeId draw(Builder& b, std::string_view op, const Dims& dims, Attrs attrs) {
  attrs.set("order", dims);
  if (b.step.index < 0)
    return b.add(op, {}, std::move(attrs));
  return b.add(op, {b.step}, std::move(attrs));
}

NodeId build_uniform(Builder& b, Operands, Attrs& attrs, std::vector<NodeId>&) {
  const double low = attrs.get_or("low", 0.0), high = attrs.get_or("high", 1.0);
  if (!b.require_order(low, high))
    return {};
  Attrs range{{{"low", low}, {"high", high}}};
  NodeId x = draw(b, "draw_uniform", *attrs.get<Dims>("dims"), std::move(range));
  return b.cast(x, b.numerics.compute);
}

NodeId build_normal(Builder& b, Operands, Attrs& attrs, std::vector<NodeId>&) {
  Attrs spread{
      {{"std", attrs.get_or("std", 1.0)}, {"truncated", attrs.get_or("truncated", false)}}};
  NodeId x = draw(b, "draw_normal", *attrs.get<Dims>("dims"), std::move(spread));
  return b.cast(x, b.numerics.compute);
}

NodeId build_dropout(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>&) {
  const double rate = *attrs.get<double>("rate");
  if (!b.training || rate == 0)
    return x[0];
  Expr uniform(b, draw(b, "draw_uniform", b.shape(x[0]).dims, {}));
  return where(greater_equal(uniform, rate), Expr(b, x[0]) * (1 / (1 - rate)), 0.0);
}

OpDef drawing(std::string_view name, std::string_view kernel, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .min_operands = 0,
          .max_operands = 1,
          .infer = infer_draw,
          .internal = true,
          .flops_per_point = 0,
          .kernel = kernel};
}

}  // namespace

std::span<const OpDef> random_ops() {
  static const AttrDef dims{"dims", AttrKind::dims, "dims of the result", true};
  static const OpDef ops[] = {
      drawing("draw_uniform", "uniform", "Uniform numbers in [low, high)."),
      drawing("draw_normal", "normal", "Normal numbers of mean 0, by inverse CDF."),
      {.name = "uniform",
       .summary = "Uniform random numbers, new in each step.",
       .min_operands = 0,
       .max_operands = 0,
       .attributes = {dims,
                      {"low", AttrKind::number, "the least, 0 by default"},
                      {"high", AttrKind::number, "above the greatest, 1 by default"}},
       .build = build_uniform,
       .random = true},
      {.name = "normal",
       .summary = "Normal random numbers of mean 0, new in each step.",
       .min_operands = 0,
       .max_operands = 0,
       .attributes = {dims,
                      {"std", AttrKind::number, "the standard deviation, 1 by default", false,
                       at_least(0)},
                      {"truncated", AttrKind::boolean, "within two deviations"}},
       .build = build_normal,
       .random = true},
      {.name = "dropout",
       .summary =
           "In training, each element is 0 with probability `rate`, else divided by 1 - rate.",
       .attributes = {{"rate", AttrKind::number, "the probability", true, below_one()}},
       .build = build_dropout,
       .random = true},
  };
  return ops;
}

}  // namespace mtf
