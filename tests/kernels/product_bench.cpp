// Speed of the product kernel against the peak of fused multiply-adds measured between its runs.
// Usage: bench_product [portable|avx2|avx512 [part of a shape's name]]
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "table.h"

namespace mtf {
namespace {

// Seconds of CPU, so that other processes on the machine count little; divided by the number of
// threads it leaves out how evenly they are loaded.
double cpu_now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

View view(std::vector<int> dims, std::vector<int64_t> size, DType dtype) {
  View v;
  v.dtype = dtype;
  for (int d : dims)
    v.dims.push_back({d});
  v.size = size;
  v.origin.assign(size.size(), 0);
  v.whole = size;
  return v;
}

Team team_of(int size) {
  Team team;
  team.size = size;
  team.run = [size](int64_t tasks, TaskRef f) {
    if (size == 1) {
      for (int64_t i = 0; i < tasks; ++i)
        f(i, 0);
      return;
    }
    std::atomic<int64_t> next{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < size; ++t)
      threads.emplace_back([&, t] {
        for (int64_t i = next++; i < tasks; i = next++)
          f(i, t);
      });
  };
  return team;
}

struct Shape {
  const char* what;
  int64_t batch, m, n, k;
  bool a_by_columns = false, b_by_columns = false;
  int64_t blocks = 8;
  DType dtype = DType::f32;
};

void measure(const Shape& s, Isa isa, int threads) {
  KernelCall call;
  call.kernel = "product";
  call.inputs.push_back(s.a_by_columns ? view({0, 3, 1}, {s.batch, s.k, s.m}, s.dtype)
                                       : view({0, 1, 3}, {s.batch, s.m, s.k}, s.dtype));
  call.inputs.push_back(s.b_by_columns ? view({0, 2, 3}, {s.batch, s.n, s.k}, s.dtype)
                                       : view({0, 3, 2}, {s.batch, s.k, s.n}, s.dtype));
  call.results.push_back(
      view({0, 1, 2}, {s.batch, s.m, s.n}, s.dtype == DType::f64 ? DType::f64 : DType::f32));
  call.terms.push_back({0, 1, {{{3}, s.blocks, {}}}});
  const auto bytes = [](int64_t n) { return static_cast<size_t>(n + 64); };
  std::vector<std::byte> a(bytes(s.batch * s.m * s.k * 8)), b(bytes(s.batch * s.k * s.n * 8)),
      c(bytes(s.batch * s.m * s.n * 8));
  const auto scratch_bytes = static_cast<size_t>(threads * scratch_bytes_per_thread);
  std::unique_ptr<std::byte, void (*)(void*)> scratch(
      static_cast<std::byte*>(std::aligned_alloc(4096, scratch_bytes)), std::free);
  std::memset(scratch.get(), 0, scratch_bytes);
  const std::byte* inputs[] = {a.data(), b.data()};
  std::byte* results[] = {c.data()};
  Team team = team_of(threads);
  const Kernel kernel = prepare_product(call, isa);
  Team one = team_of(1);
  double best = 1e30, busy = 1e30, top = 0;
  const double flops = 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k);
  for (double until = now() + 0.5; now() < until;) {
    top = std::max(top, peak_flops(isa, one) / 1e9);
    const double start = now(), cpu_start = cpu_now();
    kernel({inputs, results, {scratch.get(), scratch_bytes}, team});
    best = std::min(best, now() - start);
    busy = std::min(busy, (cpu_now() - cpu_start) / threads);
  }
  const double streamed = static_cast<double>(s.batch * s.k * s.n * size_of(s.dtype));
  const double rate = flops / best / 1e9, busy_rate = flops / busy / 1e9, most = top * threads;
  std::printf("%-32s %d x %7.1f GFLOP/s of %6.1f: %5.1f %%; by CPU time %5.1f %%; b: %5.1f GB/s\n",
              s.what, threads, rate, most, 100 * rate / most, 100 * busy_rate / most,
              streamed / best / 1e9);
}

}  // namespace
}  // namespace mtf

int main(int argc, char** argv) {
  using namespace mtf;
  Isa isa = best_isa();
  for (Isa i : {Isa::portable, Isa::avx2, Isa::avx512})
    if (argc > 1 && name_of(i) == argv[1])
      isa = i;
  const Shape shapes[] = {
      {"2048x2048x512", 1, 2048, 2048, 512},
      {"2048x512x2048", 1, 2048, 512, 2048},
      {"512x2048x2048, A transposed", 1, 512, 2048, 2048, true},
      {"1024x1024x1024", 1, 1024, 1024, 1024},
      {"1024x1024x1024, B transposed", 1, 1024, 1024, 1024, false, true},
      {"256x256x8192", 1, 256, 256, 8192, true, false, 32},
      {"1024x1024x1024 bf16", 1, 1024, 1024, 1024, false, false, 8, DType::bf16},
      {"64 x 256x256x64, B transposed", 64, 256, 256, 64, false, true, 1},
      {"64 x 256x64x256", 64, 256, 64, 256, false, false, 1},
      {"1x4096x4096", 1, 1, 4096, 4096, false, false, 16},
      {"1x4096x4096, B transposed", 1, 1, 4096, 4096, false, true, 16},
      {"4x4096x4096", 1, 4, 4096, 4096, false, false, 16},
      {"1x4096x4096 bf16", 1, 1, 4096, 4096, false, false, 16, DType::bf16},
      {"16x2048x2048", 1, 16, 2048, 2048},
  };
  for (int threads : {1, 2})
    for (const Shape& s : shapes)
      if (argc < 3 || std::strstr(s.what, argv[2]))
        measure(s, isa, threads);
}
