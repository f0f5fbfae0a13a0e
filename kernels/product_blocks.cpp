// Chooses chunks of K, blocks and strips.
#include "product_blocks.h"

#include <algorithm>

namespace mtf {
namespace {

constexpr int64_t chunk_terms = 256;     // of the sum, packed at a time
constexpr int64_t strip_columns = 1024;  // of a streamed block, at most
constexpr int64_t least_strip = 256;
constexpr int64_t rarely_reused = 4;       // rows
constexpr int64_t small_work = 256 << 10;  // multiply-adds not worth cutting further
constexpr int64_t blocks_per_thread = 3;   // so that threads end at about the same time

}  // namespace

Blocking::Blocking(const Contraction& contraction, int64_t rows, int64_t lanes, int64_t bytes,
                   int64_t extra, bool with_buffer)
    : c(contraction),
      tile_rows(rows),
      tile_lanes(lanes),
      element_bytes(bytes),
      extra_bytes(extra),
      buffered(with_buffer),
      height(divided_up(c.rows, divided_up(c.rows, rows))) {
  cut_chunks();
}

// Whole leaves, chunks as equal as those allow.
void Blocking::cut_chunks() {
  const int64_t target = divided_up(c.depth, divided_up(c.depth, chunk_terms));
  int64_t waiting = 0;
  Chunk chunk;
  for (size_t i = 0; i < c.leaves.size(); ++i) {
    const Leaf& leaf = c.leaves[i];
    if (chunk.count > 0 && chunk.terms + leaf.length > target) {
      chunks.push_back(chunk);
      chunk = {static_cast<int64_t>(i), 0, 0, waiting};
      held = std::max(held, waiting);
    }
    ++chunk.count;
    chunk.terms += leaf.length;
    levels = std::max(levels, waiting + 1);
    waiting += 1 - leaf.merges;
  }
  chunks.push_back(chunk);
  for (const Chunk& each : chunks)
    packed_terms = std::max(packed_terms, each.terms);
}

// A line of padding keeps panels of a power-of-two size from sharing cache sets.
int64_t Blocking::panel(int64_t width) const {
  const int64_t line = cache_line / element_bytes;
  return rounded_up(packed_terms * width, line) + line;
}

int64_t Blocking::buffer_stride(int64_t columns) const {
  return rounded_up(columns, tile_lanes / 2);
}

bool Blocking::fits(int64_t rows, int64_t columns) const {
  const int64_t down = divided_up(rows, height), across = divided_up(columns, tile_lanes);
  const int64_t elements = down * panel(tile_rows) + across * panel(tile_lanes) +
                           (buffered ? rows * buffer_stride(columns) : 0);
  return elements * element_bytes + (down * across * held + levels) * tile_bytes() + extra_bytes +
             8 * cache_line <=
         scratch_bytes_per_thread;
}

Grid Blocking::cut(int64_t rows, int64_t columns) const {
  return {rows, columns, divided_up(c.rows, rows), divided_up(c.columns, columns)};
}

Grid Blocking::tiles(int threads) const {
  int64_t down = std::min(divided_up(c.rows, height), most_rows / height);
  // What few rows hardly use again must still be in a near cache when they do.
  const int64_t wide = c.rows <= rarely_reused ? 2 * tile_lanes : most_columns;
  int64_t across = divided_up(std::min(c.columns, wide), tile_lanes);
  while (down * across > 1) {
    const Grid grid = cut(down * height, across * tile_lanes);
    const bool enough = threads == 1 || grid.blocks(c.batch) >= blocks_per_thread * threads ||
                        grid.rows * grid.columns * c.depth < small_work;
    if (enough && fits(grid.rows, grid.columns))
      break;
    int64_t& longer = grid.columns >= grid.rows && across > 1 ? across : down;
    longer = divided_up(longer, 2);
  }
  return cut(down * height, across * tile_lanes);
}

Grid Blocking::strips(int threads) const {
  const int64_t fit = (scratch_bytes_per_thread / 2) / (levels * c.rows * element_bytes);
  int64_t columns = std::min(strip_columns, fit / cache_line * cache_line);
  while (columns > least_strip &&
         divided_up(c.columns, columns) * c.batch < blocks_per_thread * threads)
    columns /= 2;
  return cut(c.rows, std::min(c.columns, columns));
}

Block Blocking::block_of(const Grid& grid, int64_t index) const {
  const int64_t across = index % grid.across, down = index / grid.across % grid.down;
  const int64_t row = down * grid.rows, column = across * grid.columns;
  return {index / grid.across / grid.down, row, std::min(grid.rows, c.rows - row), column,
          std::min(grid.columns, c.columns - column)};
}

}  // namespace mtf
