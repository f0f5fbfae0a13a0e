// Norms over named dims, in f32 (f64); saved are r = 1 / sqrt(variance + epsilon) and the mean u,
// all else is recomputed in the gradient (docs/NUMERICS.md 7).
#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Dims = std::vector<DimId>;
using Operands = std::span<const NodeId>;
using Gradients = std::vector<NodeId>;
using Saved = std::vector<NodeId>;

struct Norm {
  Norm(Builder& b, Operands operands, const Attrs& attrs)
      : x(wide(Expr(b, operands[0]))),
        over(*attrs.get<Dims>("over")),
        n(static_cast<double>(b.graph.true_elements({over}))),
        epsilon(attrs.get_or("epsilon", 1e-5)) {}
  Expr mean(Expr t) const { return sum(t, over) / n; }
  Expr inverse_deviation(Expr centred) const { return rsqrt(mean(centred * centred) + epsilon); }

  Expr x;
  Dims over;
  double n, epsilon;
};

// h, scaled and shifted by the operands that are there, in the dtype of x.
NodeId scaled(Builder& b, Expr h, Operands operands) {
  if (operands.size() > 1)
    h = h * wide(Expr(b, operands[1]));
  if (operands.size() > 2)
    h = h + wide(Expr(b, operands[2]));
  return cast(h, b.dtype(operands[0]));
}

NodeId build_rms_norm(Builder& b, Operands x, Attrs& attrs, Saved& saved) {
  if (!b.require_dims(x[0], *attrs.get<Dims>("over")))
    return {};
  Norm norm(b, x, attrs);
  Expr r = norm.inverse_deviation(norm.x);
  saved = {r};
  return scaled(b, norm.x * r, x);
}

NodeId build_layer_norm(Builder& b, Operands x, Attrs& attrs, Saved& saved) {
  if (!b.require_dims(x[0], *attrs.get<Dims>("over")))
    return {};
  Norm norm(b, x, attrs);
  Expr u = norm.mean(norm.x);
  Expr centred = norm.x - u;
  Expr r = norm.inverse_deviation(centred);
  saved = {u, r};
  return scaled(b, centred * r, x);
}

// Gradients of scale and bias, after that of x.
Gradients with_scale_and_bias(const GradientArgs& g, Expr dx, Expr dy, Expr h) {
  Gradients all = {dx};
  if (g.inputs.size() > 1)
    all.push_back(g.wanted[1] ? NodeId(sum_to(dy * h, g.b.shape(g.inputs[1]))) : NodeId{});
  if (g.inputs.size() > 2)
    all.push_back(g.wanted[2] ? NodeId(sum_to(dy, g.b.shape(g.inputs[2]))) : NodeId{});
  return all;
}

Expr before_scale(const GradientArgs& g, Expr dy) {
  return g.inputs.size() > 1 ? dy * wide(Expr(g.b, g.inputs[1])) : dy;
}

Gradients gradient_rms_norm(const GradientArgs& g) {
  Norm norm(g.b, g.inputs, g.attrs);
  Expr r(g.b, g.saved[0]), dy = wide(Expr(g.b, g.dy));
  Expr h = norm.x * r;
  Expr gh = before_scale(g, dy);
  return with_scale_and_bias(g, r * (gh - h * norm.mean(gh * h)), dy, h);
}

Gradients gradient_layer_norm(const GradientArgs& g) {
  Norm norm(g.b, g.inputs, g.attrs);
  Expr u(g.b, g.saved[0]), r(g.b, g.saved[1]), dy = wide(Expr(g.b, g.dy));
  Expr h = (norm.x - u) * r;
  Expr gh = before_scale(g, dy);
  return with_scale_and_bias(g, r * ((gh - norm.mean(gh)) - h * norm.mean(gh * h)), dy, h);
}

}  // namespace

std::span<const OpDef> norm_ops() {
  static const AttrDef over{"over", AttrKind::dims, "the dims that are normalised together", true};
  static const AttrDef epsilon{"epsilon", AttrKind::number, "added under the root, 1e-5 by default",
                               false, at_least(0)};
  static const OpDef ops[] = {
      {.name = "rms_norm",
       .summary = "[x, scale]: x / sqrt(mean x^2 + epsilon), times the scale if there is one "
                  "(Zhang and Sennrich 2019).",
       .min_operands = 1,
       .max_operands = 2,
       .attributes = {over, epsilon},
       .build = build_rms_norm,
       .gradient = gradient_rms_norm},
      {.name = "layer_norm",
       .summary = "[x, scale, bias]: (x - mean) / sqrt(variance + epsilon), times the scale, plus "
                  "the bias, if there are any (Ba et al. 2016).",
       .min_operands = 1,
       .max_operands = 3,
       .attributes = {over, epsilon},
       .build = build_layer_norm,
       .gradient = gradient_layer_norm},
  };
  return ops;
}

}  // namespace mtf
