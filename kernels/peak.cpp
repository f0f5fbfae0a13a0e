// Times the loop of fused multiply-adds on every thread of a team.
#include "peak.h"

#include <time.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernel.h"

namespace mtf {
namespace {

constexpr int64_t rounds = 4096;  // between looks at the clock
constexpr double seconds_of_try = 5e-3;
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
  std::vector<double> rates(static_cast<size_t>(team.size));
  double peak = 0;
  for (int i = 0; i < tries; ++i) {
    team.run(team.size, [&](int64_t task, int) {
      const double start = cpu_seconds();
      double flops = 0, seconds = 0;
      while (seconds < seconds_of_try) {
        loop.run(rounds);
        flops += loop.flops_per_round * static_cast<double>(rounds);
        seconds = cpu_seconds() - start;
      }
      rates[static_cast<size_t>(task)] = flops / seconds;
    });
    peak = std::max(peak, std::accumulate(rates.begin(), rates.end(), 0.0));
  }
  return peak;
}

}  // namespace mtf
