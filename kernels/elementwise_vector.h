// What ScalarOps needs of one instruction set: Real<float>, Real<double> and Int, values as wide as
// its registers, with SLEEF's deterministic functions, whose bits do not depend on the width.
// Included only by *_isa.cpp files; everything lives in a namespace of its own per instruction set,
// so that the linker cannot merge code across them.
#pragma once

#ifndef __AVX2__
#define FP_FAST_FMA  // has sleef.h declare its scalar functions that use fused multiply-add
#define FP_FAST_FMAF
#endif
#include <sleef.h>

#include "kernel.h"

namespace mtf::MTF_ISA {

template <class V, class F>
inline V by_lane(F f, V x) {
  for (size_t i = 0; i < sizeof(V) / sizeof(x[0]); ++i)
    x[i] = f(x[i]);
  return x;
}
template <class V, class F>
inline V by_lane(F f, V x, V y) {
  for (size_t i = 0; i < sizeof(V) / sizeof(x[0]); ++i)
    x[i] = f(x[i], y[i]);
  return x;
}

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#define MTF_SLEEF_F(name, ...) Sleef_finz_##name##f16_u10avx512f(__VA_ARGS__)
#define MTF_SLEEF_D(name, ...) Sleef_finz_##name##d8_u10avx512f(__VA_ARGS__)
#define MTF_ROUND_F(name, x) _mm512_##name##_ps(x)
#define MTF_ROUND_D(name, x) _mm512_##name##_pd(x)
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
#define MTF_SLEEF_F(name, ...) Sleef_finz_##name##f8_u10avx2(__VA_ARGS__)
#define MTF_SLEEF_D(name, ...) Sleef_finz_##name##d4_u10avx2(__VA_ARGS__)
#define MTF_ROUND_F(name, x) _mm256_##name##_ps(x)
#define MTF_ROUND_D(name, x) _mm256_##name##_pd(x)
#else
inline constexpr int vector_bytes = 16;
// The library's scalar functions of equal bits use the processor's fused multiply-add. One without
// it (before 2013) gets the plain ones, whose last bits differ.
inline bool has_fma() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("fma");
  return has;
#else
  return true;
#endif
}
#define MTF_SLEEF_F(name, ...)                                                            \
  by_lane(has_fma() ? Sleef_finz_##name##f1_u10purecfma : Sleef_cinz_##name##f1_u10purec, \
          __VA_ARGS__)
#define MTF_SLEEF_D(name, ...)                                                            \
  by_lane(has_fma() ? Sleef_finz_##name##d1_u10purecfma : Sleef_cinz_##name##d1_u10purec, \
          __VA_ARGS__)
#define MTF_ROUND_F(name, x) by_lane([](float lane) { return __builtin_##name##f(lane); }, x)
#define MTF_ROUND_D(name, x) by_lane([](double lane) { return __builtin_##name(lane); }, x)
#endif

template <class T, int n>
struct VectorOf {
  typedef T type __attribute__((vector_size(n * sizeof(T))));
};
template <class T, int n>
using Vector = typename VectorOf<T, n>::type;

template <class T>
struct Functions;

#define MTF_FUNCTIONS(T, SLEEF, ROUND)                    \
  template <>                                             \
  struct Functions<T> {                                   \
    using V = Vector<T, vector_bytes / sizeof(T)>;        \
    static V exp(V x) { return SLEEF(exp, x); }           \
    static V expm1(V x) { return SLEEF(expm1, x); }       \
    static V log(V x) { return SLEEF(log, x); }           \
    static V log1p(V x) { return SLEEF(log1p, x); }       \
    static V sin(V x) { return SLEEF(sin, x); }           \
    static V cos(V x) { return SLEEF(cos, x); }           \
    static V tanh(V x) { return SLEEF(tanh, x); }         \
    static V erf(V x) { return SLEEF(erf, x); }           \
    static V power(V x, V y) { return SLEEF(pow, x, y); } \
    static V sqrt(V x) { return ROUND(sqrt, x); }         \
    static V floor(V x) { return ROUND(floor, x); }       \
    static V ceil(V x) { return ROUND(ceil, x); }         \
  };
MTF_FUNCTIONS(float, MTF_SLEEF_F, MTF_ROUND_F)
MTF_FUNCTIONS(double, MTF_SLEEF_D, MTF_ROUND_D)
#undef MTF_FUNCTIONS

// f32 or f64 arithmetic. Truth values travel as int32, one an element, in every class.
template <class T>
struct Real : Functions<T> {
  static constexpr bool integer = false;
  static constexpr int lanes = vector_bytes / sizeof(T);
  using Element = T;
  using V = Vector<T, lanes>;
  using Mask = decltype(V{} < V{});
  using Truth = Vector<int32_t, lanes>;

  static V splat(double x) { return static_cast<T>(x) - V{}; }  // keeps -0
  static V fmod(V x, V y) {  // exact, so the C library's is as good as any
    return by_lane(
        [](T a, T b) {
          return sizeof(T) == 4 ? T(__builtin_fmodf(a, b)) : T(__builtin_fmod(a, b));
        },
        x, y);
  }
  static V nan() { return V{} + static_cast<T>(__builtin_nan("")); }
  static V bit_and(V a, V b) { return reinterpret_cast<V>(Mask(a) & Mask(b)); }
  static V bit_or(V a, V b) { return reinterpret_cast<V>(Mask(a) | Mask(b)); }
  static V bit_not(V a) { return reinterpret_cast<V>(~Mask(a)); }
  static Truth truth(Mask m) { return __builtin_convertvector(m, Truth) & 1; }
  static Mask mask(Truth t) { return __builtin_convertvector(t, Mask) != 0; }
};

struct Int {
  static constexpr bool integer = true;
  static constexpr int lanes = vector_bytes / 4;
  using Element = int32_t;
  using V = Vector<int32_t, lanes>;
  using Mask = V;
  using Truth = V;

  static V splat(double x) { return static_cast<int32_t>(x) - V{}; }
  static Truth truth(Mask m) { return m & 1; }
  static Mask mask(Truth t) { return t != 0; }
  // Truncating; 0 for divisor 0, and the lowest number over -1 is itself.
  static V quotient(V a, V b) {
    for (int i = 0; i < lanes; ++i)
      a[i] = b[i] == 0    ? 0
             : b[i] == -1 ? static_cast<int32_t>(0u - static_cast<uint32_t>(a[i]))
                          : a[i] / b[i];
    return a;
  }
};

template <class V, class T>
inline V load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class V>
inline void store(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// The first `count` elements of a vector; the others are 0.
template <class V, class T>
inline V load_some(const T* p, int64_t count) {
  V v{};
  __builtin_memcpy(&v, p, static_cast<size_t>(count) * sizeof(T));
  return v;
}

}  // namespace mtf::MTF_ISA
