#include "ops/blocks.h"

#include <fmt/format.h>

#include "base/text.h"

namespace mtf {
namespace {

constexpr int64_t longest_leaf = 256, shortest_leaf = 32;
constexpr int64_t most_blocks = 65536;  // of one sum: kernels keep a number for each

int64_t power_of_two_from(int64_t n) {
  int64_t p = 1;
  while (p < n)
    p *= 2;
  return p;
}

// The smallest power of two >= least that brings `terms` to the longest leaf, halved until it
// divides `size` and the leaf is not too short.
int64_t cut(int64_t size, int64_t terms, int64_t least) {
  int64_t n = power_of_two_from(least);
  while (terms > longest_leaf * n)
    n *= 2;
  while (n > 1 && (size % n != 0 || terms / n < shortest_leaf))
    n /= 2;
  return n;
}

std::vector<int64_t> fixed_counts(Builder& b, std::span<const DimId> over) {
  std::vector<int64_t> fixed;
  int64_t all = 1;
  for (DimId d : over) {
    const Dim& dim = b.graph[d];
    auto found = b.numerics.blocks_of.find(dim.name);
    const auto [count, where] =
        found == b.numerics.blocks_of.end() ? Numerics::BlockCount{} : found->second;
    int64_t n = count;
    if (n != 0 && (n < 0 || dim.size % n != 0)) {
      b.diagnostics.add({Code::spec_range,
                         fmt::format("{} blocks of '{}', but {} does not divide {}={}", n, dim.name,
                                     n, dim.name, dim.size),
                         where,
                         {},
                         fmt::format("{} blocks would do", divisors(dim.size, n))});
      n = 0;
    }
    all *= std::max<int64_t>(n, 1);
    if (all > most_blocks) {
      b.error(Code::spec_range,
              fmt::format("numerics.blocks cuts one sum into {} blocks; at most {} are possible",
                          all, most_blocks));
      return std::vector<int64_t>(over.size(), 1);
    }
    fixed.push_back(n);
  }
  return fixed;
}

std::vector<int64_t> sizes_of(const Builder& b, std::span<const DimId> over) {
  std::vector<int64_t> sizes;
  for (DimId d : over)
    sizes.push_back(b.graph[d].size);
  return sizes;
}

DimPairs as_pairs(Builder& b, std::span<const DimId> over, const std::vector<int64_t>& counts) {
  DimPairs pairs;
  for (size_t i = 0; i < over.size(); ++i)
    if (counts[i] > 1)
      pairs.emplace_back(over[i], b.graph.block_dim(over[i], counts[i]));
  return pairs;
}

}  // namespace

std::vector<int64_t> product_blocks(std::span<const int64_t> sizes, std::span<const int64_t> fixed,
                                    int64_t usual) {
  std::vector<int64_t> counts(sizes.size(), 1);
  int64_t terms = 1;  // of a leaf, with the dims cut so far
  for (size_t i = 0; i < sizes.size(); ++i) {
    counts[i] = fixed[i] > 0 ? fixed[i] : 1;
    terms *= sizes[i] / counts[i];
  }
  if (sizes.empty())
    return counts;
  if (fixed[0] == 0)
    counts[0] = cut(sizes[0], terms, usual);
  terms /= fixed[0] == 0 ? counts[0] : 1;
  if (sizes.size() > 1 && fixed[1] == 0 && counts[0] == sizes[0] && terms > longest_leaf)
    counts[1] = cut(sizes[1], terms, 1);
  return counts;
}

std::vector<int64_t> sum_blocks(std::span<const int64_t> sizes, std::span<const int64_t> fixed,
                                int64_t usual) {
  std::vector<int64_t> counts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t n = fixed[i] > 0 ? fixed[i] : power_of_two_from(usual);
    while (sizes[i] % n != 0)
      n /= 2;
    counts.push_back(n);
  }
  return counts;
}

DimPairs product_blocks(Builder& b, std::span<const DimId> over, int64_t outermost) {
  std::vector<int64_t> fixed = fixed_counts(b, over);
  if (outermost > 0)
    fixed[0] = outermost;
  return as_pairs(b, over, product_blocks(sizes_of(b, over), fixed, b.numerics.blocks));
}

DimPairs sum_blocks(Builder& b, std::span<const DimId> over) {
  std::vector<int64_t> fixed = fixed_counts(b, over);
  return as_pairs(b, over, sum_blocks(sizes_of(b, over), fixed, b.numerics.blocks));
}

}  // namespace mtf
