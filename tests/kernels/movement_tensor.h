// Tensors of the movement kernels' tests: elements are read and written by named index, never by
// position, so that naive code needs no thought of storage orders. Kernels run on one thread and on
// several and must write equal bytes.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "movement.h"
#include "table.h"

namespace mtf::test {

using Index = std::array<int64_t, 16>;  // by DimId
using Sizes = std::array<int64_t, 16>;

inline std::vector<DimId> ids_of(std::vector<int> dims) {
  std::vector<DimId> ids;
  for (int d : dims)
    ids.push_back({d});
  return ids;
}

struct Tensor {
  View view;
  std::vector<std::byte> bytes;

  Tensor(DType type, const std::vector<int>& dims, const Sizes& sizes) {
    view.dtype = type;
    view.dims = ids_of(dims);
    int64_t count = 1;
    for (int d : dims) {
      view.size.push_back(sizes[d]);
      view.whole.push_back(sizes[d]);
      view.origin.push_back(0);
      count *= sizes[d];
    }
    bytes.assign(static_cast<size_t>(count * size_of(type)), std::byte{0x5a});
  }

  // The same dims, of which `dim` is cut to [origin, origin + size).
  Tensor shard(int dim, int64_t origin, int64_t size) const {
    Tensor part = *this;
    int64_t count = 1;
    for (size_t i = 0; i < view.dims.size(); ++i) {
      if (view.dims[i].index == dim) {
        part.view.size[i] = size;
        part.view.origin[i] = view.origin[i] + origin;
      }
      count *= part.view.size[i];
    }
    part.bytes.assign(static_cast<size_t>(count * size_of(view.dtype)), std::byte{0x5a});
    part.each([&](const Index& i) { part.set(i, get(i)); });
    return part;
  }

  std::byte* address(const Index& global) {
    int64_t at = 0;
    for (size_t i = 0; i < view.dims.size(); ++i)
      at = at * view.size[i] + global[view.dims[i].index] - view.origin[i];
    return bytes.data() + at * size_of(view.dtype);
  }
  double get(const Index& i) const {
    const std::byte* p = const_cast<Tensor*>(this)->address(i);
    switch (view.dtype) {
      case DType::f32:
        return *reinterpret_cast<const float*>(p);
      case DType::f64:
        return *reinterpret_cast<const double*>(p);
      case DType::bf16:
        return static_cast<float>(*reinterpret_cast<const Bf16*>(p));
      case DType::i32:
        return *reinterpret_cast<const int32_t*>(p);
      default:
        return static_cast<double>(*p);
    }
  }
  void set(const Index& i, double x) {
    std::byte* p = address(i);
    switch (view.dtype) {
      case DType::f32:
        *reinterpret_cast<float*>(p) = static_cast<float>(x);
        break;
      case DType::f64:
        *reinterpret_cast<double*>(p) = x;
        break;
      case DType::bf16:
        *reinterpret_cast<Bf16*>(p) = to_bf16(static_cast<float>(x));
        break;
      case DType::i32:
        *reinterpret_cast<int32_t*>(p) = static_cast<int32_t>(x);
        break;
      default:
        *p = static_cast<std::byte>(x);
    }
  }

  // Calls f with the global index of every local element.
  template <class F>
  void each(const F& f) const {
    Index index{};
    each_from(0, index, f);
  }
  template <class F>
  void fill(const F& value_of) {
    each([&](const Index& i) { set(i, value_of(i)); });
  }

 private:
  template <class F>
  void each_from(size_t at, Index& index, const F& f) const {
    if (at == view.dims.size()) {
      f(index);
      return;
    }
    for (int64_t i = 0; i < view.size[at]; ++i) {
      index[view.dims[at].index] = view.origin[at] + i;
      each_from(at + 1, index, f);
    }
  }
};

inline bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// The first element that differs, as text; empty if all agree.
template <class F>
std::string differs(const Tensor& t, const F& expected) {
  std::string text;
  t.each([&](const Index& i) {
    if (!text.empty() || same(t.get(i), expected(i)))
      return;
    for (DimId d : t.view.dims)
      text += "dim " + std::to_string(d.index) + "=" + std::to_string(i[d.index]) + " ";
    text += std::to_string(t.get(i)) + " is not " + std::to_string(expected(i));
  });
  return text;
}

inline Team threads(int count) {
  Team team;
  team.size = count;
  team.run = [count](int64_t tasks, TaskRef f) {
    std::atomic<int64_t> next{0};
    const auto work = [&](int thread) {
      for (int64_t t = next++; t < tasks; t = next++)
        f(t, thread);
    };
    std::vector<std::thread> others;
    for (int i = 1; i < count; ++i)
      others.emplace_back(work, i);
    work(0);
    for (std::thread& t : others)
      t.join();
  };
  return team;
}

using Prepare = Kernel (*)(const KernelCall&);

inline void run_on(const Kernel& kernel, int team_size, const std::vector<const Tensor*>& inputs,
                   std::byte* result, int64_t scratch_bytes) {
  std::vector<const std::byte*> addresses;
  for (const Tensor* t : inputs)
    addresses.push_back(t->bytes.data());
  std::vector<uint64_t> scratch(static_cast<size_t>(scratch_bytes * team_size / 8));
  Team team = threads(team_size);
  std::byte* const results[] = {result};
  kernel({addresses, results, std::as_writable_bytes(std::span(scratch)), team});
}

// Prepares the call for these tensors and runs it, on one thread and on three.
inline void run(Prepare prepare, KernelCall call, const std::vector<const Tensor*>& inputs,
                Tensor& result, int64_t scratch_bytes = scratch_bytes_per_thread) {
  for (const Tensor* t : inputs)
    call.inputs.push_back(t->view);
  call.results.push_back(result.view);
  const Kernel kernel = prepare(call);
  std::vector<std::byte> again = result.bytes;
  run_on(kernel, 1, inputs, result.bytes.data(), scratch_bytes);
  run_on(kernel, 3, inputs, again.data(), scratch_bytes);
  REQUIRE(again == result.bytes);
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  // Floats of all their digits, whose sums round; zeros of both signs among them.
  double value() {
    if (below(8) == 0)
      return below(2) ? 0.0 : -0.0;
    const double digits = static_cast<double>(below(1 << 24) - (1 << 23));
    return std::ldexp(digits, -10 - static_cast<int>(below(8)));
  }
  std::vector<int> shuffled(std::vector<int> dims) {
    std::shuffle(dims.begin(), dims.end(), engine_);
    return dims;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace mtf::test
