// Elementwise ops: one scalar formula each, operands broadcast by dim name. The result has the dims
// of an operand that has them all, else all dims in order of first appearance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Operands = std::span<const NodeId>;
using Gradients = std::vector<NodeId>;

Shape broadcast_shape(Builder& b, Operands operands) {
  Shape all;
  for (NodeId x : operands)
    for (DimId d : b[x].type.shape.dims)
      if (!all.has(d))
        all.dims.push_back(d);
  for (NodeId x : operands)
    if (b[x].type.shape.dims.size() == all.dims.size())
      return b[x].type.shape;
  return all;
}

// The dtype that operands have in common; bf16 next to f32 is f32.
std::optional<DType> common_dtype(Builder& b, Operands operands) {
  DType type = b.dtype(operands[0]);
  for (NodeId x : operands) {
    DType other = b.dtype(x);
    bool mixed = (type == DType::bf16 && other == DType::f32) ||
                 (type == DType::f32 && other == DType::bf16);
    if (mixed)
      type = DType::f32;
    else if (type != other) {
      b.error(
          Code::model_dtype,
          fmt::format("the operands {} {} and {} {} differ in dtype", name_of(type),
                      b.graph.show(b.shape(operands[0])), name_of(other), b.graph.show(b.shape(x))),
          fmt::format("make one like the other first: `{{cast: ..., dtype: {}}}`",
                      name_of(is_float(type) ? type : other)));
      return std::nullopt;
    }
  }
  return type;
}

bool require(Builder& b, DType type, bool fits, std::string_view wanted) {
  if (!fits)
    b.error(Code::model_dtype, fmt::format("takes {} operands, not {}", wanted, name_of(type)),
            "cast them first, such as `{cast: x, dtype: f32}`");
  return fits;
}

std::optional<Type> infer_number(Builder& b, Operands x, Attrs&) {
  std::optional<DType> type = common_dtype(b, x);
  if (!type || !require(b, *type, is_float(*type) || *type == DType::i32, "f32, f64, bf16 or i32"))
    return std::nullopt;
  return Type{broadcast_shape(b, x), *type};
}

std::optional<Type> infer_real(Builder& b, Operands x, Attrs&) {
  std::optional<DType> type = common_dtype(b, x);
  if (!type || !require(b, *type, is_float(*type), "floating point"))
    return std::nullopt;
  return Type{broadcast_shape(b, x), *type};
}

// `by`, as a spec writes it, is the kernel's immediate.
std::optional<Type> infer_immediate(Builder& b, Operands x, Attrs& attrs) {
  const double* by = attrs.get<double>("by");
  if (!attrs.find("immediate") && !by) {
    b.error(Code::model_attribute, "the attribute 'by' is missing");
    return std::nullopt;
  }
  if (by)
    attrs = Attrs{{{"immediate", *by}}};
  return infer_number(b, x, attrs);
}

std::optional<Type> infer_compare(Builder& b, Operands x, Attrs&) {
  if (!common_dtype(b, x))
    return std::nullopt;
  return Type{broadcast_shape(b, x), DType::boolean};
}

std::optional<Type> infer_logical(Builder& b, Operands x, Attrs&) {
  std::optional<DType> type = common_dtype(b, x);
  if (!type || !require(b, *type, *type == DType::boolean, "bool"))
    return std::nullopt;
  return Type{broadcast_shape(b, x), DType::boolean};
}

std::optional<Type> infer_where(Builder& b, Operands x, Attrs&) {
  DType condition = b.dtype(x[0]);
  if (!require(b, condition, condition == DType::boolean, "a bool first and then two"))
    return std::nullopt;
  std::optional<DType> type = common_dtype(b, x.subspan(1));
  if (!type)
    return std::nullopt;
  return Type{broadcast_shape(b, x), *type};
}

std::optional<Type> infer_mask(Builder& b, Operands x, Attrs&) {
  return b[x[1]].type;
}

std::optional<Type> infer_cast(Builder& b, Operands x, Attrs& attrs) {
  return Type{b.shape(x[0]), *attrs.get<DType>("dtype")};
}

std::optional<Type> infer_broadcast(Builder& b, Operands x, Attrs& attrs) {
  Shape to{*attrs.get<std::vector<DimId>>("to")};
  for (DimId d : dims_without(b.shape(x[0]).dims, to.dims)) {
    b.error(Code::model_shape, fmt::format("the result {} lacks the operand's dim '{}'",
                                           b.graph.show(to), b.graph[d].name));
    return std::nullopt;
  }
  return Type{to, b.dtype(x[0])};
}

// What a gradient formula sees: the operands, the result and its gradient.
struct Terms {
  explicit Terms(const GradientArgs& g)
      : a(g.b, g.inputs[0]), b(g.b, g.inputs.back()), y(g.b, g.y), dy(g.b, g.dy) {}
  Expr a, b, y, dy;
};

Gradients both_operands(const Terms& t, Expr da, Expr db) {
  return {sum_to(da, t.a.shape()), sum_to(db, t.b.shape())};
}

template <Expr (*formula)(const Terms&)>
Gradients unary(const GradientArgs& g) {
  return {formula(Terms(g))};
}

Gradients gradient_add(const GradientArgs& g) {
  Terms t(g);
  return both_operands(t, t.dy, t.dy);
}
Gradients gradient_subtract(const GradientArgs& g) {
  Terms t(g);
  return {sum_to(t.dy, t.a.shape()), g.wanted[1] ? NodeId(sum_to(-t.dy, t.b.shape())) : NodeId{}};
}
Gradients gradient_multiply(const GradientArgs& g) {
  Terms t(g);
  return {g.wanted[0] ? NodeId(sum_to(t.dy * t.b, t.a.shape())) : NodeId{},
          g.wanted[1] ? NodeId(sum_to(t.dy * t.a, t.b.shape())) : NodeId{}};
}
Gradients gradient_divide(const GradientArgs& g) {
  Terms t(g);
  Expr da = t.dy / t.b;
  return {sum_to(da, t.a.shape()),
          g.wanted[1] ? NodeId(sum_to(-(da * t.y), t.b.shape())) : NodeId{}};
}
// Ties go to the first operand.
Gradients gradient_maximum(const GradientArgs& g) {
  Terms t(g);
  Expr first = greater_equal(t.a, t.b);
  return both_operands(t, where(first, t.dy, 0.0), where(first, 0.0, t.dy));
}
Gradients gradient_minimum(const GradientArgs& g) {
  Terms t(g);
  Expr first = greater_equal(t.b, t.a);
  return both_operands(t, where(first, t.dy, 0.0), where(first, 0.0, t.dy));
}
Gradients gradient_power(const GradientArgs& g) {
  Terms t(g);
  Expr da = t.dy * t.b * apply("power", t.a, t.b + -1.0);
  if (!g.wanted[1])
    return {sum_to(da, t.a.shape()), {}};
  return both_operands(t, da, t.dy * t.y * log(t.a));
}
Gradients gradient_where(const GradientArgs& g) {
  Expr condition(g.b, g.inputs[0]), dy(g.b, g.dy);
  return {{},
          sum_to(where(condition, dy, 0.0), g.b.shape(g.inputs[1])),
          sum_to(where(condition, 0.0, dy), g.b.shape(g.inputs[2]))};
}
// Padded indices of a gradient may hold anything, as those of any value.
Gradients gradient_mask(const GradientArgs& g) {
  return {{}, g.dy, {}};
}
Gradients gradient_cast(const GradientArgs& g) {
  DType from = g.b.dtype(g.inputs[0]);
  if (!is_float(from) || !is_float(g.b.dtype(g.y)))
    return {NodeId{}};
  return {g.b.cast(g.dy, from)};
}
Gradients gradient_broadcast(const GradientArgs& g) {
  return {g.b.sum_to(g.dy, g.b.shape(g.inputs[0]))};
}
Gradients gradient_scale(const GradientArgs& g) {
  return {Expr(g.b, g.dy) * *g.attrs.get<double>("immediate")};
}

OpDef map(std::string_view name, Scalar scalar, int operands, decltype(OpDef::infer) infer,
          std::string_view summary, decltype(OpDef::gradient) gradient = nullptr) {
  return {.name = name,
          .summary = summary,
          .min_operands = operands,
          .max_operands = operands,
          .infer = infer,
          .gradient = gradient,
          .in_place = true,
          .kernel = "map",
          .scalar = scalar};
}

OpDef with(OpDef op, std::vector<AttrDef> attributes) {
  op.attributes = std::move(attributes);
  return op;
}
OpDef free(OpDef op) {
  op.flops_per_point = 0;
  return op;
}
OpDef internal(OpDef op) {
  op.internal = true;
  return op;
}

using D = Expr;  // a derivative times dy

D d_negative(const Terms& t) {
  return -t.dy;
}
D d_absolute(const Terms& t) {
  return t.dy * apply("sign", t.a);
}
D d_exp(const Terms& t) {
  return t.dy * t.y;
}
D d_expm1(const Terms& t) {
  return t.dy * (t.y + 1.0);
}
D d_log(const Terms& t) {
  return t.dy / t.a;
}
D d_log1p(const Terms& t) {
  return t.dy / (t.a + 1.0);
}
D d_sqrt(const Terms& t) {
  return t.dy / (t.y * 2.0);
}
D d_rsqrt(const Terms& t) {
  return t.dy * (t.y * t.y * t.y * -0.5);
}
D d_reciprocal(const Terms& t) {
  return -(t.dy * (t.y * t.y));
}
D d_sin(const Terms& t) {
  return t.dy * cos(t.a);
}
D d_cos(const Terms& t) {
  return -(t.dy * sin(t.a));
}
D d_tanh(const Terms& t) {
  return t.dy * (-(t.y * t.y) + 1.0);
}
D d_erf(const Terms& t) {
  return t.dy * (exp(-(t.a * t.a)) * (2 / std::sqrt(M_PI)));
}
D d_sigmoid(const Terms& t) {
  return t.dy * (t.y * (-t.y + 1.0));
}
D d_softplus(const Terms& t) {
  return t.dy * sigmoid(t.a);
}
D d_relu(const Terms& t) {
  return where(less(t.y.constant(0), t.y), t.dy, 0.0);
}
D d_gelu(const Terms& t) {
  return t.dy * apply("gelu_gradient", t.a);
}
D d_gelu_tanh(const Terms& t) {
  return t.dy * apply("gelu_tanh_gradient", t.a);
}
D d_silu(const Terms& t) {
  return t.dy * apply("silu_gradient", t.a);
}
D d_offset(const Terms& t) {
  return t.dy;
}

std::vector<OpDef> arithmetic() {
  const AttrDef by{"by", AttrKind::number, "the constant"};
  return {
      map("add", Scalar::add, 2, infer_number, "x + y.", gradient_add),
      map("subtract", Scalar::subtract, 2, infer_number, "x - y.", gradient_subtract),
      map("multiply", Scalar::multiply, 2, infer_number, "x * y.", gradient_multiply),
      map("divide", Scalar::divide, 2, infer_real, "x / y.", gradient_divide),
      map("minimum", Scalar::minimum, 2, infer_number,
          "The lesser; NaN wins, -0 < +0; the gradient of ties goes to x.", gradient_minimum),
      map("maximum", Scalar::maximum, 2, infer_number,
          "The greater; NaN wins, -0 < +0; the gradient of ties goes to x.", gradient_maximum),
      map("power", Scalar::power, 2, infer_real, "x to the power y.", gradient_power),
      map("remainder", Scalar::remainder, 2, infer_number, "x modulo y, with the sign of y."),
      with(map("scale", Scalar::scale, 1, infer_immediate, "x times a constant.", gradient_scale),
           {by}),
      with(map("offset", Scalar::offset, 1, infer_immediate, "x plus a constant.", unary<d_offset>),
           {by}),
      map("negative", Scalar::negative, 1, infer_number, "-x.", unary<d_negative>),
      map("abs", Scalar::absolute, 1, infer_number, "|x|.", unary<d_absolute>),
      map("sign", Scalar::sign, 1, infer_number, "-1, 0 or 1; no gradient."),
      map("floor", Scalar::floor, 1, infer_real, "The largest integer <= x; no gradient."),
      map("ceil", Scalar::ceil, 1, infer_real, "The least integer >= x; no gradient."),
  };
}

std::vector<OpDef> functions() {
  return {
      map("exp", Scalar::exp, 1, infer_real, "e to the power x.", unary<d_exp>),
      map("expm1", Scalar::expm1, 1, infer_real, "exp(x) - 1, exact near 0.", unary<d_expm1>),
      map("log", Scalar::log, 1, infer_real, "The natural logarithm.", unary<d_log>),
      map("log1p", Scalar::log1p, 1, infer_real, "log(1 + x), exact near 0.", unary<d_log1p>),
      map("sqrt", Scalar::sqrt, 1, infer_real, "The square root.", unary<d_sqrt>),
      map("rsqrt", Scalar::rsqrt, 1, infer_real, "1 / sqrt(x).", unary<d_rsqrt>),
      map("reciprocal", Scalar::reciprocal, 1, infer_real, "1 / x.", unary<d_reciprocal>),
      map("sin", Scalar::sin, 1, infer_real, "The sine.", unary<d_sin>),
      map("cos", Scalar::cos, 1, infer_real, "The cosine.", unary<d_cos>),
      map("tanh", Scalar::tanh, 1, infer_real, "The hyperbolic tangent.", unary<d_tanh>),
      map("erf", Scalar::erf, 1, infer_real, "The error function.", unary<d_erf>),
      map("sigmoid", Scalar::sigmoid, 1, infer_real, "1 / (1 + exp(-x)).", unary<d_sigmoid>),
      map("softplus", Scalar::softplus, 1, infer_real, "log(1 + exp(x)).", unary<d_softplus>),
      map("relu", Scalar::relu, 1, infer_number, "max(x, 0).", unary<d_relu>),
      map("gelu", Scalar::gelu, 1, infer_real, "x * Phi(x), by erf (Hendrycks and Gimpel 2016).",
          unary<d_gelu>),
      internal(map("gelu_gradient", Scalar::gelu_gradient, 1, infer_real, "d gelu(x) / dx.")),
      map("gelu_tanh", Scalar::gelu_tanh, 1, infer_real, "The approximation of gelu by tanh.",
          unary<d_gelu_tanh>),
      internal(map("gelu_tanh_gradient", Scalar::gelu_tanh_gradient, 1, infer_real,
                   "d gelu_tanh(x) / dx.")),
      map("silu", Scalar::silu, 1, infer_real, "x * sigmoid(x).", unary<d_silu>),
      internal(map("silu_gradient", Scalar::silu_gradient, 1, infer_real, "d silu(x) / dx.")),
  };
}

std::vector<OpDef> choices() {
  return {
      map("less", Scalar::less, 2, infer_compare, "x < y."),
      map("less_equal", Scalar::less_equal, 2, infer_compare, "x <= y."),
      map("greater", Scalar::greater, 2, infer_compare, "x > y."),
      map("greater_equal", Scalar::greater_equal, 2, infer_compare, "x >= y."),
      map("equal", Scalar::equal, 2, infer_compare, "x = y."),
      map("not_equal", Scalar::not_equal, 2, infer_compare, "x and y differ."),
      map("is_finite", Scalar::is_finite, 1, infer_compare, "Neither infinite nor NaN."),
      map("logical_and", Scalar::logical_and, 2, infer_logical, "Both."),
      map("logical_or", Scalar::logical_or, 2, infer_logical, "Either."),
      map("logical_not", Scalar::logical_not, 1, infer_logical, "Not."),
      map("where", Scalar::select, 3, infer_where,
          "The second operand where the first is true, else the third: a true select.",
          gradient_where),
      internal(map("mask", Scalar::select, 3, infer_mask,
                   "The second operand at true indices, where the first is true, else the third.",
                   gradient_mask)),
      with(map("cast", Scalar::copy, 1, infer_cast, "x rounded to another dtype.", gradient_cast),
           {{"dtype", AttrKind::dtype, "the new dtype", true}}),
      free(with(map("broadcast", Scalar::copy, 1, infer_broadcast, "x repeated along new dims.",
                    gradient_broadcast),
                {{"to", AttrKind::dims, "all dims of the result", true}})),
  };
}

}  // namespace

std::span<const OpDef> elementwise_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> all = arithmetic();
    for (auto family : {functions(), choices()})
      all.insert(all.end(), family.begin(), family.end());
    return all;
  }();
  return ops;
}

}  // namespace mtf
