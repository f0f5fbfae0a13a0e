#include "runtime/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace mtf {
namespace {

// splitmix64 (Steele et al. 2014): a well-mixed draw from a counter.
uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

double uniform(uint64_t seed, int64_t position) {
  return static_cast<double>(mixed(mixed(seed) ^ static_cast<uint64_t>(position)) >> 11) *
         0x1.0p-53;
}

}  // namespace

int32_t sample(std::span<const float> logits, double temperature, int64_t top_k, uint64_t seed,
               int64_t position) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  auto likelier = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  if (temperature <= 0)
    return *std::min_element(ids.begin(), ids.end(), likelier);
  const size_t kept = top_k > 0 ? std::min(ids.size(), static_cast<size_t>(top_k)) : ids.size();
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(),
                    likelier);
  const double most = logits[static_cast<size_t>(ids[0])];
  std::vector<double> weights;
  double all = 0;
  for (size_t i = 0; i < kept; ++i) {
    weights.push_back(std::exp((logits[static_cast<size_t>(ids[i])] - most) / temperature));
    all += weights.back();
  }
  double left = uniform(seed, position) * all;
  for (size_t i = 0; i < kept; ++i) {
    left -= weights[i];
    if (left < 0)
      return ids[i];
  }
  return ids[kept - 1];
}

}  // namespace mtf
