// The loop of fused multiply-adds that peak_flops times, one for every instruction set.
#pragma once

#include <cstdint>

namespace mtf {

struct FmaLoop {
  double flops_per_round;
  void (*run)(int64_t rounds);
};

extern const FmaLoop fma_loop_portable;
#if defined(__x86_64__)
extern const FmaLoop fma_loop_avx2, fma_loop_avx512;
#endif

}  // namespace mtf
