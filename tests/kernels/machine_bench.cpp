// What this machine can do at most, now: for each number of threads given, one line of f32 GFLOP/s
// of fused multiply-adds and GB/s read from memory. Usage: bench_machine THREADS...
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "kernel.h"

namespace mtf {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Team team_of(int size) {
  return {size, [size](int64_t tasks, TaskRef f) {
            std::atomic<int64_t> next{0};
            std::vector<std::jthread> threads;
            for (int t = 0; t < size; ++t)
              threads.emplace_back([&, t] {
                for (int64_t i = next++; i < tasks; i = next++)
                  f(i, t);
              });
          }};
}

// Bytes a second of the best of some passes over more memory than any cache holds.
double read_rate(Team& team) {
  std::vector<uint64_t> memory(size_t{32} << 20, 1);
  const size_t piece = memory.size() / static_cast<size_t>(team.size);
  std::atomic<uint64_t> sum = 0;
  double best = 0;
  for (int pass = 0; pass < 8; ++pass) {
    const double start = now();
    team.run(team.size, [&](int64_t task, int) {
      const auto first = memory.begin() + task * static_cast<int64_t>(piece);
      sum += std::accumulate(first, first + static_cast<int64_t>(piece), uint64_t{0});
    });
    best = std::max(best, static_cast<double>(memory.size() * 8) / (now() - start));
  }
  return sum == 0 ? 0 : best;
}

}  // namespace
}  // namespace mtf

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    mtf::Team team = mtf::team_of(std::atoi(argv[i]));
    std::printf("%d threads: %.1f GFLOP/s %.1f GB/s\n", team.size,
                mtf::peak_flops(mtf::best_isa(), team) / 1e9, mtf::read_rate(team) / 1e9);
  }
}
