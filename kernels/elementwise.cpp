// Which loops a machine runs, and the walk over operands of different dim orders.
#include "elementwise.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace mtf {

namespace portable {
const Loops& elementwise_loops();
}
#if defined(__x86_64__)
namespace avx2 {
const Loops& elementwise_loops();
}
namespace avx512 {
const Loops& elementwise_loops();
}
#endif

const Loops& loops_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512)
    return avx512::elementwise_loops();
  if (isa == Isa::avx2)
    return avx2::elementwise_loops();
#endif
  return portable::elementwise_loops();
}

void kernel_bug(const char* message) {
  std::fprintf(stderr, "mtf: internal error: %s\n", message);
  std::abort();
}

int64_t stride_of(const View& view, DimId dim) {
  int64_t stride = 1;
  for (size_t i = view.dims.size(); i-- > 0; stride *= view.size[i])
    if (view.dims[i] == dim)
      return view.stride.empty() ? stride : view.stride[i];
  return 0;
}

int64_t Nest::elements() const {
  int64_t n = 1;
  for (int64_t s : size)
    n *= s;
  return n;
}

void Nest::add(int64_t extent, const std::vector<int64_t>& strides) {
  size.push_back(extent);
  stride.resize(strides.size());
  base.resize(strides.size());
  for (size_t o = 0; o < strides.size(); ++o)
    stride[o].push_back(strides[o]);
}

void Nest::collapse() {
  Nest joined;
  joined.base = base;
  joined.stride.resize(stride.size());
  auto inner_continues = [&](size_t loop) {
    if (joined.size.empty())
      return false;
    for (size_t o = 0; o < stride.size(); ++o)
      if (joined.stride[o].back() != stride[o][loop] * size[loop])
        return false;
    return true;
  };
  for (size_t loop = 0; loop < size.size(); ++loop) {
    if (size[loop] == 1 && !(joined.size.empty() && loop + 1 == size.size()))
      continue;
    bool join = inner_continues(loop);
    if (join)
      joined.size.back() *= size[loop];
    else
      joined.size.push_back(size[loop]);
    for (size_t o = 0; o < stride.size(); ++o) {
      if (join)
        joined.stride[o].back() = stride[o][loop];
      else
        joined.stride[o].push_back(stride[o][loop]);
    }
  }
  if (joined.size.empty())
    joined.add(1, std::vector<int64_t>(base.size(), 0));
  for (const auto& steps : joined.stride) {
    size_t first = joined.size.size() - 1;
    int64_t extent = joined.size.back();
    for (; first > 0 && steps[first - 1] == steps.back() * extent; --first)
      extent *= joined.size[first - 1];
    joined.run.emplace_back(static_cast<int>(first), extent);
  }
  *this = std::move(joined);
}

int64_t Nest::offset(int o, int64_t at) const {
  const auto& steps = stride[static_cast<size_t>(o)];
  int64_t sum = base[static_cast<size_t>(o)];
  for (size_t loop = size.size(); loop-- > 1; at /= size[loop])
    sum += at % size[loop] * steps[loop];
  return sum + at * steps[0];
}

bool Nest::fixed(int o) const {
  const auto& steps = stride[static_cast<size_t>(o)];
  return std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 0; });
}

}  // namespace mtf
