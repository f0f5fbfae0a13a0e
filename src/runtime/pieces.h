// A dense tensor cut into equal pieces along one dim, and its pieces as packed buffers.
#pragma once

#include <cstring>
#include <span>

#include "plan/program.h"

namespace mtf {

class Pieces {
 public:
  // `whole` is the tensor on this rank that has `count` pieces along its dim at position `dim`.
  Pieces(const Value& whole, int dim, int count) {
    const auto at = static_cast<size_t>(dim);
    int64_t inner = size_of(whole.type.dtype);
    for (size_t i = at + 1; i < whole.local_sizes.size(); ++i)
      inner *= whole.local_sizes[i];
    for (size_t i = 0; i < at; ++i)
      rows_ *= static_cast<size_t>(whole.local_sizes[i]);
    row_bytes_ = static_cast<size_t>(whole.local_sizes[at] * inner);
    run_bytes_ = row_bytes_ / static_cast<size_t>(count);
  }

  void get(std::span<const std::byte> whole, int piece, std::span<std::byte> packed) const {
    for (size_t r = 0; r < rows_; ++r)
      std::memcpy(packed.data() + r * run_bytes_, whole.data() + offset(r, piece), run_bytes_);
  }

  void put(std::span<std::byte> whole, int piece, std::span<const std::byte> packed) const {
    for (size_t r = 0; r < rows_; ++r)
      std::memcpy(whole.data() + offset(r, piece), packed.data() + r * run_bytes_, run_bytes_);
  }

 private:
  size_t offset(size_t row, int piece) const {
    return row * row_bytes_ + static_cast<size_t>(piece) * run_bytes_;
  }

  size_t rows_ = 1, row_bytes_ = 0, run_bytes_ = 0;
};

}  // namespace mtf
