// The oracle's formulas of the scalar ops: one number at a time, in float, double or 64-bit
// integers, with SLEEF's scalar functions.
#pragma once

#ifndef __AVX2__
#define FP_FAST_FMA
#define FP_FAST_FMAF
#endif
#include <sleef.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernel.h"

namespace mtf::oracle {

template <class T>
T smaller(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<T>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

#define MTF_ORACLE_FUNCTION(name, sleef)          \
  inline float name(float x) {                    \
    return Sleef_finz_##sleef##f1_u10purecfma(x); \
  }                                               \
  inline double name(double x) {                  \
    return Sleef_finz_##sleef##d1_u10purecfma(x); \
  }
MTF_ORACLE_FUNCTION(exp_, exp)
MTF_ORACLE_FUNCTION(expm1_, expm1)
MTF_ORACLE_FUNCTION(log_, log)
MTF_ORACLE_FUNCTION(log1p_, log1p)
MTF_ORACLE_FUNCTION(sin_, sin)
MTF_ORACLE_FUNCTION(cos_, cos)
MTF_ORACLE_FUNCTION(tanh_, tanh)
MTF_ORACLE_FUNCTION(erf_, erf)
#undef MTF_ORACLE_FUNCTION
inline float pow_(float x, float y) {
  return Sleef_finz_powf1_u10purecfma(x, y);
}
inline double pow_(double x, double y) {
  return Sleef_finz_powd1_u10purecfma(x, y);
}

template <class T>
bool truth_op(Scalar op, T a, T b) {
  switch (op) {
    case Scalar::less:
      return a < b;
    case Scalar::less_equal:
      return a <= b;
    case Scalar::greater:
      return a > b;
    case Scalar::greater_equal:
      return a >= b;
    case Scalar::equal:
      return a == b;
    case Scalar::not_equal:
      return a != b;
    case Scalar::logical_and:
      return a != 0 && b != 0;
    case Scalar::logical_or:
      return a != 0 || b != 0;
    case Scalar::logical_not:
      return a == 0;
    case Scalar::is_finite:
      return std::isfinite(a);
    default:
      throw std::logic_error("the oracle lacks an op");
  }
}

template <class T>
T float_op(Scalar op, T a, T b, T c, T k) {
  const T one = 1, half = T(0.5), root = T(0.79788456080286536);
  auto cdf = [&] { return half * (one + erf_(a * T(0.70710678118654752))); };
  auto logistic = [&] { return one / (one + exp_(-a)); };
  auto bent = [&] { return tanh_(root * (a + T(0.044715) * (a * a * a))); };
  switch (op) {
    case Scalar::copy:
      return a;
    case Scalar::constant:
      return k;
    case Scalar::add:
      return a + b;
    case Scalar::subtract:
      return a - b;
    case Scalar::multiply:
      return a * b;
    case Scalar::divide:
      return a / b;
    case Scalar::minimum:
      return smaller(a, b);
    case Scalar::maximum:
      return -smaller(-a, -b);
    case Scalar::power:
      return pow_(a, b);
    case Scalar::remainder: {
      T r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case Scalar::negative:
      return -a;
    case Scalar::absolute:
      return std::fabs(a);
    case Scalar::exp:
      return exp_(a);
    case Scalar::expm1:
      return expm1_(a);
    case Scalar::log:
      return log_(a);
    case Scalar::log1p:
      return log1p_(a);
    case Scalar::sqrt:
      return std::sqrt(a);
    case Scalar::rsqrt:
      return one / std::sqrt(a);
    case Scalar::reciprocal:
      return one / a;
    case Scalar::sin:
      return sin_(a);
    case Scalar::cos:
      return cos_(a);
    case Scalar::tanh:
      return tanh_(a);
    case Scalar::erf:
      return erf_(a);
    case Scalar::sigmoid:
      return logistic();
    case Scalar::softplus:
      return (a < 0 ? T(0) : a) + log1p_(exp_(-std::fabs(a)));
    case Scalar::sign:
      return a > 0 ? one : a < 0 ? -one : a;
    case Scalar::floor:
      return std::floor(a);
    case Scalar::ceil:
      return std::ceil(a);
    case Scalar::relu:
      return std::isnan(a) ? a : a > 0 ? a : T(0);
    case Scalar::gelu:
      return a * cdf();
    case Scalar::gelu_gradient:
      return cdf() + a * (exp_(a * a * T(-0.5)) * T(0.39894228040143268));
    case Scalar::gelu_tanh:
      return half * a * (one + bent());
    case Scalar::gelu_tanh_gradient: {
      T t = bent(), slope = root * (one + T(0.134145) * (a * a));
      return half * (one + t) + half * a * (one - t * t) * slope;
    }
    case Scalar::silu:
      return a * logistic();
    case Scalar::silu_gradient:
      return logistic() * (one + a * (one - logistic()));
    case Scalar::scale:
      return a * k;
    case Scalar::offset:
      return a + k;
    case Scalar::select:
      return a != 0 ? b : c;
    default:
      return truth_op(op, a, b);
  }
}

// Exact in 64 bits, then wrapped to 32; only what integers can do.
inline double integer_op(Scalar op, int64_t a, int64_t b, int64_t c, int64_t k) {
  int64_t y = 0;
  switch (op) {
    case Scalar::add:
      y = a + b;
      break;
    case Scalar::subtract:
      y = a - b;
      break;
    case Scalar::multiply:
      y = a * b;
      break;
    case Scalar::divide:
      y = b == 0 ? 0 : a / b;
      break;
    case Scalar::remainder:
      y = b == 0 ? 0 : ((a % b) + b) % b;
      break;
    case Scalar::scale:
      y = a * k;
      break;
    case Scalar::offset:
      y = a + k;
      break;
    case Scalar::negative:
      y = -a;
      break;
    case Scalar::absolute:
      y = a < 0 ? -a : a;
      break;
    case Scalar::select:
      y = a != 0 ? b : c;
      break;
    default:
      y = static_cast<int64_t>(float_op<double>(op, double(a), double(b), double(c), double(k)));
  }
  return static_cast<int32_t>(static_cast<uint64_t>(y));
}

}  // namespace mtf::oracle
