// Which instruction set this machine runs.
#include <cstdlib>

#include "kernel.h"

namespace mtf {

bool isa_available(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (isa == Isa::avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return isa == Isa::portable;
}

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "?";
}

Isa best_isa() {
  static const Isa best = [] {
    const char* wish = std::getenv("MTF_ISA");
    for (Isa isa : {Isa::avx512, Isa::avx2})
      if (isa_available(isa) && (!wish || name_of(isa) == wish))
        return isa;
    return Isa::portable;
  }();
  return best;
}

}  // namespace mtf
