// Compiled once per instruction set: independent chains of f32 fused multiply-adds, as many as hide
// an instruction's latency, in registers only.
#include "peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MTF_JOIN2(a, b) a##b
#define MTF_JOIN(a, b) MTF_JOIN2(a, b)

namespace mtf {
namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

typedef float Vector __attribute__((vector_size(vector_bytes)));
constexpr int chains = 12, lanes = vector_bytes / 4;

inline Vector fma(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return (Vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
  return (Vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  for (int lane = 0; lane < lanes; ++lane)
    c[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
  return c;
#endif
}

// Keeps the compiler from doing several rounds at once.
inline void pin(Vector& v) {
#if defined(__x86_64__)
#if defined(__AVX512F__)
  asm volatile("" : "+v"(v));
#else
  asm volatile("" : "+x"(v));
#endif
#else
  asm volatile("" : "+w"(v));
#endif
}

void run(int64_t rounds) {
  Vector sums[chains], factor = Vector{} + 0.999f, term = Vector{} + 1e-3f;
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i)
    sums[i] = Vector{} + static_cast<float>(i);
  pin(factor);
  pin(term);
  for (int64_t k = 0; k < rounds; ++k)
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) {
      sums[i] = fma(sums[i], factor, term);
      pin(sums[i]);
    }
}

}  // namespace

extern constexpr FmaLoop MTF_JOIN(fma_loop_, MTF_ISA){2.0 * chains * lanes, run};

}  // namespace mtf
