// Times the loop of fused multiply-adds on every thread of a team.
#include "peak.h"

#include <time.h>

#include <algorithm>
#include <vector>

#include "kernel.h"

namespace mtf {
namespace {

constexpr double flops_of_try = 4e8;  // some milliseconds
constexpr int tries = 6;

const FmaLoop& loop_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512)
    return fma_loop_avx512;
  if (isa == Isa::avx2)
    return fma_loop_avx2;
#endif
  return fma_loop_portable;
}

// Of this thread: what other processes take from it does not count.
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

double peak_flops(Isa isa, Team& team) {
  const FmaLoop& loop = loop_of(isa);
  const auto rounds = static_cast<int64_t>(flops_of_try / loop.flops_per_round);
  const double flops = loop.flops_per_round * static_cast<double>(rounds);
  std::vector<double> seconds(static_cast<size_t>(team.size));
  double peak = 0;
  for (int i = 0; i < tries; ++i) {
    team.run(team.size, [&](int64_t task, int) {
      const double start = cpu_seconds();
      loop.run(rounds);
      seconds[static_cast<size_t>(task)] = cpu_seconds() - start;
    });
    double rate = 0;
    for (double s : seconds)
      rate += flops / s;
    peak = std::max(peak, rate);
  }
  return peak;
}

}  // namespace mtf
