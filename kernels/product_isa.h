// The inner loops of the product, one set for every instruction set and operand type: packing a run
// of operand elements into panels, the register tile that walks panels leaf by leaf, and the
// streaming loop for few rows. No loop here ever splits or reorders a chain of fused multiply-adds.
#pragma once

#include <cstdint>

#include "contraction.h"

namespace mtf {

// Copies rows into panels, converting to the type of the sum. Element (row, k) of the source is at
// source[rows[row] + k * k_stride]; it goes to panel row / height, at k * width + row % height.
struct PackArgs {
  const void* source;
  const int64_t* rows;
  int64_t row_count;
  int64_t k_stride, k_count;
  void* panels;           // at the run's first k
  int64_t panel_stride;   // elements from one panel to the next
  int64_t height, width;  // rows in a panel, and elements between neighbouring k; height <= width
};

// Walks `count` leaves of a pair of packed panels. The waiting sums form a stack of tiles; its
// first `held_levels` tiles are at `held` (they outlive the call), the others at `spare`.
struct TileArgs {
  const void *a, *b;
  const Leaf* leaves;
  int64_t count;
  void *held, *spare;
  int64_t held_levels, height;  // height: tiles waiting on entry
  void* result;                 // null: the last sum waits too
  const int64_t* result_rows;   // offset of each row of the result, elements
};

// acc[row][lane] = fma(a[k][row], b[k * b_stride + lane], acc[row][lane]) for k = 0, 1, ...
struct StreamArgs {
  const void* a;  // packed, [k_count, rows]
  const void* b;
  int64_t b_stride, k_count, lanes;
  void* acc;
  int64_t acc_stride;
  int64_t rows;  // at most few_rows
};

inline constexpr int64_t few_rows = 4;
inline constexpr int most_tile_rows = 12, most_tile_lanes = 32;

// Static: objects of different instruction sets must not share a copy.
static inline bool is_consecutive(const int64_t* offsets, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    if (offsets[i] != offsets[0] + i)
      return false;
  return true;
}

struct ProductKernels {
  int64_t rows, lanes;  // of a full tile: lanes is two vectors
  // tile[r - 1][v - 1]: r rows, v vectors of lanes / 2. Tiles on the stack are [r][lanes].
  void (*tile[most_tile_rows][2])(const TileArgs&);
  void (*pack)(const PackArgs&);       // from the type of the sum
  void (*pack_bf16)(const PackArgs&);  // f32 sums only
  void (*stream)(const StreamArgs&);
  void (*stream_bf16)(const StreamArgs&);
  void (*add)(void* left, const void* right, int64_t count);  // left = left + right
};

struct IsaProduct {
  ProductKernels f32, f64;
};

extern const IsaProduct product_portable;
#if defined(__x86_64__)
extern const IsaProduct product_avx2, product_avx512;
#endif

}  // namespace mtf
