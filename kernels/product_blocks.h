// How a product is cut for caches, scratch and threads. Nothing here touches a sum: K is cut
// between leaves only, and every element of the result belongs to one block.
#pragma once

#include "contraction.h"

namespace mtf {

constexpr int64_t divided_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
constexpr int64_t rounded_up(int64_t a, int64_t b) {
  return divided_up(a, b) * b;
}

inline constexpr int64_t cache_line = 64;
inline constexpr int64_t most_rows = 384, most_columns = 512;  // of a block of tiles

// Leaves [first, first + count) are packed and walked together; `waiting` sums are left from
// before.
struct Chunk {
  int64_t first = 0, count = 0, terms = 0, waiting = 0;
};

// A piece of the result: one task.
struct Block {
  int64_t batch, row, rows, column, columns;
};

// How many blocks of what size the result is cut into.
struct Grid {
  int64_t rows, columns;  // of a block
  int64_t down, across;
  int64_t blocks(int64_t batches) const { return batches * down * across; }
};

// Hands out the scratch of one thread.
class Scratch {
 public:
  explicit Scratch(std::byte* begin) : next_(begin) {}
  std::byte* take(int64_t bytes) {
    next_ += rounded_up(bytes, cache_line);
    return next_ - rounded_up(bytes, cache_line);
  }

 private:
  std::byte* next_;
};

// Sizes in elements unless named bytes.
struct Blocking {
  // Tiles are tile_rows x tile_lanes; `extra_bytes` and `buffered` are what the epilogue needs:
  // scratch of its own, and a block's sums before they are stored.
  Blocking(const Contraction&, int64_t tile_rows, int64_t tile_lanes, int64_t element_bytes,
           int64_t extra_bytes, bool buffered);

  Grid tiles(int threads) const;  // largest blocks that fit the scratch and leave every thread some
  Grid strips(int threads) const;  // for few rows: columns only
  Block block_of(const Grid&, int64_t index) const;
  int64_t panel(int64_t width) const;            // of a packed chunk
  int64_t buffer_stride(int64_t columns) const;  // whole vectors
  int64_t tile_bytes() const { return tile_rows * tile_lanes * element_bytes; }

  const Contraction& c;
  int64_t tile_rows, tile_lanes, element_bytes, extra_bytes;
  bool buffered;
  int64_t height;  // rows of a panel: tile_rows, or less to make panels equal
  std::vector<Chunk> chunks;
  int64_t held = 0;          // most sums that wait from one chunk to the next
  int64_t levels = 1;        // most sums that exist at once, the one being made included
  int64_t packed_terms = 0;  // of the longest chunk

 private:
  void cut_chunks();
  bool fits(int64_t rows, int64_t columns) const;
  Grid cut(int64_t rows, int64_t columns) const;
};

}  // namespace mtf
