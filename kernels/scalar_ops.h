// The formula of every Scalar, written once for a value of any width: a scalar, a SIMD vector of
// one instruction set, a CUDA thread's number. `M` says what a value is and has its elementary
// functions:
//   V        a value (float, double, int32_t, or a GCC vector of them)
//   Mask     what a comparison of two V gives; `mask ? V : V` selects
//   integer  whether V is integral; formulas that need fractions do not exist then
//   nan()    a quiet NaN; bit_and, bit_or of the representations; sqrt, floor, ceil, fmod, power,
//            exp, expm1, log, log1p, sin, cos, tanh, erf; quotient (integral, 0 for divisor 0)
// Every operation here is one rounding; nothing may be contracted or reordered.
#pragma once

#include "kernel.h"

namespace mtf {

constexpr int scalar_count = 0
#define MTF_SCALAR(name, arity) +1
#include "scalar_ops.def"
#undef MTF_SCALAR
    ;

constexpr int arity_of(Scalar op) {
  constexpr int arities[] = {
#define MTF_SCALAR(name, arity) arity,
#include "scalar_ops.def"
#undef MTF_SCALAR
  };
  return arities[static_cast<int>(op)];
}

// Ops whose result is a truth value (0 or 1) whatever their operands are.
constexpr bool gives_truth(Scalar op) {
  return op >= Scalar::less && op <= Scalar::is_finite;
}

// Operands of one step: `k` is the immediate, `condition` is operand a of select.
template <class M>
struct Operands {
  typename M::V a, b, c, k;
  typename M::Mask condition;
};

template <class M>
struct ScalarOps {
  using V = typename M::V;
  using Mask = typename M::Mask;
  using X = const Operands<M>&;

  static V number(double value) { return M::splat(value); }
  static V Phi(V x) { return number(0.5) * (number(1) + M::erf(x * number(0.70710678118654752))); }
  static V phi(V x) { return M::exp(x * x * number(-0.5)) * number(0.39894228040143268); }
  static V logistic(V x) { return number(1) / (number(1) + M::exp(-x)); }
  static V magnitude(V x) {
    if constexpr (M::integer)
      return x < number(0) ? -x : x;
    else
      return M::bit_and(x, M::bit_not(number(-0.0)));
  }
  // sqrt(2/pi) (x + 0.044715 x^3), the argument of tanh in Hendrycks & Gimpel's approximation.
  static V gelu_argument(V x) {
    return number(0.79788456080286536) * (x + number(0.044715) * (x * x * x));
  }

  static V copy(X x) { return x.a; }
  static V constant(X x) { return x.k; }
  static V add(X x) { return x.a + x.b; }
  static V subtract(X x) { return x.a - x.b; }
  static V multiply(X x) { return x.a * x.b; }
  static V divide(X x) {
    if constexpr (M::integer)
      return M::quotient(x.a, x.b);
    else
      return x.a / x.b;
  }
  // Equal operands may be zeros of either sign: or keeps -0, and keeps +0.
  static V minimum(X x) {
    if constexpr (M::integer)
      return x.a < x.b ? x.a : x.b;
    else
      return x.a < x.b ? x.a : (x.a > x.b ? x.b : (x.a == x.b ? M::bit_or(x.a, x.b) : M::nan()));
  }
  static V maximum(X x) {
    if constexpr (M::integer)
      return x.a > x.b ? x.a : x.b;
    else
      return x.a > x.b ? x.a : (x.a < x.b ? x.b : (x.a == x.b ? M::bit_and(x.a, x.b) : M::nan()));
  }
  static V power(X x) requires(!M::integer) { return M::power(x.a, x.b); }
  static V remainder(X x) {
    V r;
    if constexpr (M::integer)
      r = x.a - M::quotient(x.a, x.b) * x.b;
    else
      r = M::fmod(x.a, x.b);
    V same_sign = x.b < number(0) ? (r > number(0) ? r + x.b : r) : (r < number(0) ? r + x.b : r);
    if constexpr (M::integer)
      return x.b == number(0) ? number(0) : same_sign;
    else
      return same_sign;
  }
  static V negative(X x) { return -x.a; }
  static V absolute(X x) { return magnitude(x.a); }
  static V exp(X x) requires(!M::integer) { return M::exp(x.a); }
  static V expm1(X x) requires(!M::integer) { return M::expm1(x.a); }
  static V log(X x) requires(!M::integer) { return M::log(x.a); }
  static V log1p(X x) requires(!M::integer) { return M::log1p(x.a); }
  static V sqrt(X x) requires(!M::integer) { return M::sqrt(x.a); }
  static V rsqrt(X x) requires(!M::integer) { return number(1) / M::sqrt(x.a); }
  static V reciprocal(X x) requires(!M::integer) { return number(1) / x.a; }
  static V sin(X x) requires(!M::integer) { return M::sin(x.a); }
  static V cos(X x) requires(!M::integer) { return M::cos(x.a); }
  static V tanh(X x) requires(!M::integer) { return M::tanh(x.a); }
  static V erf(X x) requires(!M::integer) { return M::erf(x.a); }
  static V sigmoid(X x) requires(!M::integer) { return logistic(x.a); }
  // log(1 + exp(x)) without overflow.
  static V softplus(X x) requires(!M::integer) {
    V positive = x.a < number(0) ? number(0) : x.a;
    return positive + M::log1p(M::exp(-magnitude(x.a)));
  }
  static V sign(X x) { return x.a > number(0) ? number(1) : (x.a < number(0) ? number(-1) : x.a); }
  static V floor(X x) {
    if constexpr (M::integer)
      return x.a;
    else
      return M::floor(x.a);
  }
  static V ceil(X x) {
    if constexpr (M::integer)
      return x.a;
    else
      return M::ceil(x.a);
  }
  static V relu(X x) { return x.a > number(0) ? x.a : (x.a == x.a ? number(0) : x.a); }
  static V gelu(X x) requires(!M::integer) { return x.a * Phi(x.a); }
  static V gelu_gradient(X x) requires(!M::integer) { return Phi(x.a) + x.a * phi(x.a); }
  static V gelu_tanh(X x) requires(!M::integer) {
    return number(0.5) * x.a * (number(1) + M::tanh(gelu_argument(x.a)));
  }
  static V gelu_tanh_gradient(X x) requires(!M::integer) {
    V t = M::tanh(gelu_argument(x.a));
    V slope = number(0.79788456080286536) * (number(1) + number(0.134145) * (x.a * x.a));
    return number(0.5) * (number(1) + t) + number(0.5) * x.a * (number(1) - t * t) * slope;
  }
  static V silu(X x) requires(!M::integer) { return x.a * logistic(x.a); }
  static V silu_gradient(X x) requires(!M::integer) {
    V s = logistic(x.a);
    return s * (number(1) + x.a * (number(1) - s));
  }
  static V scale(X x) { return x.a * x.k; }
  static V offset(X x) { return x.a + x.k; }
  static Mask less(X x) { return x.a < x.b; }
  static Mask less_equal(X x) { return x.a <= x.b; }
  static Mask greater(X x) { return x.a > x.b; }
  static Mask greater_equal(X x) { return x.a >= x.b; }
  static Mask equal(X x) { return x.a == x.b; }
  static Mask not_equal(X x) { return x.a != x.b; }
  static Mask logical_and(X x) { return (x.a != number(0)) & (x.b != number(0)); }
  static Mask logical_or(X x) { return (x.a != number(0)) | (x.b != number(0)); }
  static Mask logical_not(X x) { return x.a == number(0); }
  static Mask is_finite(X x) { return x.a - x.a == number(0); }
  static V select(X x) { return x.condition ? x.b : x.c; }
};

}  // namespace mtf
