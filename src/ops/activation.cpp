// Elementwise formulas of several steps.
#include <fmt/format.h>

#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Operands = std::span<const NodeId>;
using Saved = std::vector<NodeId>;

bool require_real(Builder& b, NodeId x) {
  if (is_float(b.dtype(x)))
    return true;
  b.error(Code::model_dtype,
          fmt::format("takes a floating point operand, not {}", name_of(b.dtype(x))));
  return false;
}

// f(x) where x > 0, else g(min(x, 0)), so that neither side overflows where it is not taken.
Expr by_sign(Expr x, Expr positive, Expr otherwise) {
  return where(less(x.constant(0), x), positive, otherwise);
}

NodeId build_square(Builder& b, Operands x, Attrs&, Saved&) {
  return Expr(b, x[0]) * Expr(b, x[0]);
}

NodeId build_leaky_relu(Builder& b, Operands x, Attrs& attrs, Saved&) {
  Expr v(b, x[0]);
  return by_sign(v, v, v * attrs.get_or("slope", 0.01));
}

NodeId build_elu(Builder& b, Operands x, Attrs& attrs, Saved&) {
  if (!require_real(b, x[0]))
    return {};
  Expr v(b, x[0]);
  return by_sign(v, v, apply("expm1", minimum(v, 0)) * attrs.get_or("alpha", 1.0));
}

NodeId build_selu(Builder& b, Operands x, Attrs&, Saved&) {
  constexpr double scale = 1.0507009873554804934193349852946;
  constexpr double alpha = 1.6732632423543772848170429916717;
  if (!require_real(b, x[0]))
    return {};
  Expr v(b, x[0]);
  return by_sign(v, v * scale, apply("expm1", minimum(v, 0)) * (scale * alpha));
}

NodeId build_clip(Builder& b, Operands x, Attrs& attrs, Saved&) {
  Expr v(b, x[0]);
  const double *low = attrs.get<double>("low"), *high = attrs.get<double>("high");
  if (low && high && !b.require_order(*low, *high))
    return {};
  if (low)
    v = maximum(v, *low);
  if (high)
    v = minimum(v, *high);
  return v;
}

}  // namespace

std::span<const OpDef> activation_ops() {
  static const OpDef ops[] = {
      {.name = "square", .summary = "x * x.", .build = build_square},
      {.name = "leaky_relu",
       .summary = "x where x > 0, else x times a slope.",
       .attributes = {{"slope", AttrKind::number, "the slope, 0.01 by default"}},
       .build = build_leaky_relu},
      {.name = "elu",
       .summary = "x where x > 0, else alpha * (exp(x) - 1) (Clevert et al. 2015).",
       .attributes = {{"alpha", AttrKind::number, "the limit at -infinity, 1 by default"}},
       .build = build_elu},
      {.name = "selu",
       .summary = "elu scaled so that activations normalise themselves (Klambauer et al. 2017).",
       .build = build_selu},
      {.name = "clip",
       .summary = "x no less than `low` and no greater than `high`.",
       .attributes = {{"low", AttrKind::number, "the least, none by default"},
                      {"high", AttrKind::number, "the greatest, none by default"}},
       .build = build_clip},
  };
  return ops;
}

}  // namespace mtf
