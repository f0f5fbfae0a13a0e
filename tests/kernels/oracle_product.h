// The definition of a product as scalar code: blocks, chains of fused multiply-adds, trees
// (docs/NUMERICS.md). Slow, and independent of how the kernels work.
#pragma once

#include <cmath>
#include <map>
#include <vector>

#include "kernel.h"

namespace mtf {

template <class T>
class ProductOracle {
 public:
  // inputs[i]: the elements of call.inputs[i], already of the type of the sum.
  ProductOracle(const KernelCall& call, const std::vector<std::vector<T>>& inputs)
      : call_(call), inputs_(inputs) {}

  // Every element of the result before any epilogue, row-major.
  std::vector<T> result() {
    std::vector<T> all;
    each_index(call_.results[0].dims, call_.results[0].size, 0, [&] { all.push_back(element()); });
    return all;
  }

 private:
  struct Range {
    int64_t begin, end;
  };

  template <class F>
  void each_index(const std::vector<DimId>& dims, const std::vector<int64_t>& size, size_t level,
                  F f) {
    if (level == dims.size())
      return f();
    for (int64_t i = 0; i < size[level]; ++i) {
      index_[dims[level]] = i;
      each_index(dims, size, level + 1, f);
    }
  }

  static T tree(std::vector<T> values) {
    while ((values.size() & (values.size() - 1)) != 0)
      values.push_back(T(-0.0));
    while (values.size() > 1) {
      std::vector<T> half;
      for (size_t i = 0; i < values.size(); i += 2)
        half.push_back(values[i] + values[i + 1]);
      values = half;
    }
    return values[0];
  }

  static T chain(const std::vector<T>& a, const std::vector<T>& b, size_t begin, size_t end) {
    if (end - begin > 256) {
      const size_t middle = begin + (end - begin + 1) / 2;
      return chain(a, b, begin, middle) + chain(a, b, middle, end);
    }
    T sum = 0;
    for (size_t i = begin; i < end; ++i)
      sum = std::fma(a[i], b[i], sum);
    return sum;
  }

  T element() {
    const std::vector<Reduced>& first = call_.terms[0].reduced;
    if (first.empty() || first[0].kept.index >= 0)
      return sum_of_terms(-1);
    std::vector<T> values;
    for (int64_t block = 0; block < first[0].blocks; ++block)
      values.push_back(sum_of_terms(block));
    return tree(values);
  }

  // Each term folded to its outermost block dim at `block` (-1: kept, or nothing is reduced).
  T sum_of_terms(int64_t block) {
    T sum = 0;
    for (size_t t = 0; t < call_.terms.size(); ++t) {
      const Term& term = call_.terms[t];
      std::vector<Range> ranges;
      if (block >= 0)
        ranges.push_back(range(term, 0, block));
      const T value = fold(term, ranges);
      sum = t == 0 ? value : sum + value;
    }
    return sum;
  }

  T fold(const Term& term, std::vector<Range> ranges) {
    const size_t level = ranges.size();
    if (level == term.reduced.size())
      return leaf(term, ranges);
    const Reduced& r = term.reduced[level];
    if (r.kept.index >= 0) {
      ranges.push_back(range(term, level, index_.at(r.kept)));
      return fold(term, ranges);
    }
    std::vector<T> values;
    for (int64_t block = 0; block < r.blocks; ++block) {
      std::vector<Range> inner = ranges;
      inner.push_back(range(term, level, block));
      values.push_back(fold(term, inner));
    }
    return tree(values);
  }

  Range range(const Term& term, size_t level, int64_t block) const {
    const Reduced& r = term.reduced[level];
    const int64_t size = extent(term, r.dim);
    return {block * size / r.blocks, (block + 1) * size / r.blocks};
  }

  int64_t extent(const Term& term, DimId dim) const {
    for (int input : {term.a, term.b}) {
      const View& view = call_.inputs[static_cast<size_t>(input)];
      for (size_t i = 0; i < view.dims.size(); ++i)
        if (view.dims[i] == dim)
          return view.size[i];
    }
    return 1;
  }

  T leaf(const Term& term, const std::vector<Range>& ranges) {
    std::vector<T> a, b;
    gather(term, ranges, 0, a, b);
    return chain(a, b, 0, a.size());
  }

  void gather(const Term& term, const std::vector<Range>& ranges, size_t level, std::vector<T>& a,
              std::vector<T>& b) {
    if (level == ranges.size()) {
      a.push_back(value(term.a));
      b.push_back(value(term.b));
      return;
    }
    for (int64_t i = ranges[level].begin; i < ranges[level].end; ++i) {
      index_[term.reduced[level].dim] = i;
      gather(term, ranges, level + 1, a, b);
    }
  }

  T value(int input) const {
    const View& view = call_.inputs[static_cast<size_t>(input)];
    int64_t at = 0;
    for (size_t i = 0; i < view.dims.size(); ++i)
      at = at * view.size[i] + index_.at(view.dims[i]);
    return inputs_[static_cast<size_t>(input)][static_cast<size_t>(at)];
  }

  const KernelCall& call_;
  const std::vector<std::vector<T>>& inputs_;
  std::map<DimId, int64_t> index_;
};

}  // namespace mtf
