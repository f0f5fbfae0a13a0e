// Copies between two dense tensors whose dims lie in different orders: the one engine behind copy,
// slice, pad, concat, shift, write_slice and the rows of gather. Contiguous runs are copied whole,
// transpositions tile by tile; a source stride of 0 repeats an element, which also fills.
#pragma once

#include "movement.h"

namespace mtf {

struct Extent {
  int64_t size = 1, from = 0, to = 0;  // strides in elements
};

// A list of extents that needs no allocation.
struct Extents {
  std::array<Extent, max_dims> at;
  int rank = 0;
  void add(Extent e) {
    if (rank == max_dims)
      std::abort();
    at[rank++] = e;
  }
};

class StridedCopy {
 public:
  StridedCopy() = default;
  // The extents in any order; every index of the result is written once.
  StridedCopy(int64_t element_bytes, Extents extents);

  void run(const std::byte* from, std::byte* to) const { tiles(from, to, 0, count_); }
  void run(const std::byte* from, std::byte* to, Team&) const;

 private:
  void choose_tile();
  void tile(const std::byte* from, std::byte* to, int64_t index) const;  // of one plane
  void tiles(const std::byte* from, std::byte* to, int64_t first, int64_t last) const;

  int64_t bytes_ = 1;
  Walk<2> outer_;       // from, to
  Extent rows_, cols_;  // the plane that is cut into tiles; cols_ is innermost in the result
  int64_t tile_rows_ = 1, tile_cols_ = 1, row_tiles_ = 0, col_tiles_ = 0;
  int64_t count_ = 0;  // of tiles
};

}  // namespace mtf
