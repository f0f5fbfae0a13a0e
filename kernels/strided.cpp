// Puts the extents of a copy into the order in which memory likes them, and copies tile by tile.
#include "strided.h"

#include <cstring>

namespace mtf {
namespace {

constexpr int64_t run_bytes = 1 << 15;   // of one tile of contiguous runs
constexpr int64_t transposed_side = 64;  // of a transposed tile, which stays in cache
constexpr int64_t serial_bytes = 1 << 18;

// Both sides contiguous, or one element repeated.
bool is_run(const Extent& e) {
  return e.to == 1 && (e.from == 1 || e.from == 0);
}

// Reads and writes whole runs, by way of a buffer in which strides that are a power of two cannot
// fight over cache lines.
template <class T>
void transpose_tile(const T* from, T* to, const Extent& rows, const Extent& cols) {
  T buffer[transposed_side * transposed_side];
  for (int64_t c = 0; c < cols.size; ++c) {
    const T* source = from + c * cols.from;
    if (rows.from == 1)
      for (int64_t r = 0; r < rows.size; ++r)
        buffer[r * transposed_side + c] = source[r];
    else
      for (int64_t r = 0; r < rows.size; ++r)
        buffer[r * transposed_side + c] = source[r * rows.from];
  }
  for (int64_t r = 0; r < rows.size; ++r)
    std::copy_n(buffer + r * transposed_side, cols.size, to + r * rows.to);
}

template <class T>
void copy_tile(const std::byte* from, std::byte* to, const Extent& rows, const Extent& cols) {
  if (cols.to == 1 && !is_run(cols))
    return transpose_tile(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), rows, cols);
  for (int64_t r = 0; r < rows.size; ++r) {
    const T* source = reinterpret_cast<const T*>(from) + r * rows.from;
    T* target = reinterpret_cast<T*>(to) + r * rows.to;
    if (cols.to == 1 && cols.from == 1)
      std::memcpy(target, source, static_cast<size_t>(cols.size) * sizeof(T));
    else if (cols.to == 1 && cols.from == 0)
      std::fill_n(target, cols.size, *source);
    else
      for (int64_t c = 0; c < cols.size; ++c)
        target[c * cols.to] = source[c * cols.from];
  }
}

// Drops extents of size 1, sorts by stride in the result, outermost first, and merges neighbours
// that are contiguous on both sides.
Extents normalised(Extents in) {
  const auto last = std::remove_if(in.at.begin(), in.at.begin() + in.rank,
                                   [](const Extent& e) { return e.size == 1; });
  std::sort(in.at.begin(), last, [](const Extent& a, const Extent& b) { return a.to > b.to; });
  Extents out;
  for (auto e = in.at.begin(); e != last; ++e) {
    Extent* outer = out.rank > 0 ? &out.at[out.rank - 1] : nullptr;
    if (outer && outer->from == e->size * e->from && outer->to == e->size * e->to)
      *outer = {outer->size * e->size, e->from, e->to};
    else
      out.add(*e);
  }
  return out;
}

}  // namespace

StridedCopy::StridedCopy(int64_t element_bytes, Extents extents) : bytes_(element_bytes) {
  Extents e = normalised(extents);
  if (e.rank > 0)
    cols_ = e.at[--e.rank];
  else
    cols_ = {1, 1, 1};
  if (e.rank > 0) {
    int row = e.rank - 1;
    if (!is_run(cols_))  // transposed: rows follow the source's innermost dim
      for (int i = 0; i < e.rank; ++i)
        if (e.at[i].from < e.at[row].from)
          row = i;
    rows_ = e.at[row];
    std::copy(e.at.begin() + row + 1, e.at.begin() + e.rank, e.at.begin() + row);
    --e.rank;
  }
  for (int i = 0; i < e.rank; ++i)
    outer_.add(e.at[i].size, {e.at[i].from, e.at[i].to});
  choose_tile();
}

void StridedCopy::choose_tile() {
  if (outer_.count() == 0 || rows_.size == 0 || cols_.size == 0)
    return;
  if (is_run(cols_)) {
    tile_cols_ = std::min(cols_.size, run_bytes / bytes_);
    tile_rows_ = std::min(rows_.size, std::max<int64_t>(1, run_bytes / bytes_ / tile_cols_));
  } else {
    tile_rows_ = std::min(rows_.size, transposed_side);
    tile_cols_ = std::min(cols_.size, transposed_side);
  }
  row_tiles_ = (rows_.size + tile_rows_ - 1) / tile_rows_;
  col_tiles_ = (cols_.size + tile_cols_ - 1) / tile_cols_;
  count_ = outer_.count() * row_tiles_ * col_tiles_;
}

void StridedCopy::run(const std::byte* from, std::byte* to, Team& team) const {
  const int64_t grain = serial_bytes / (tile_rows_ * tile_cols_ * bytes_);
  parallel_ranges(team, count_, grain,
                  [&](int64_t first, int64_t last) { tiles(from, to, first, last); });
}

void StridedCopy::tile(const std::byte* from, std::byte* to, int64_t index) const {
  const int64_t r = index / col_tiles_ * tile_rows_, c = index % col_tiles_ * tile_cols_;
  const Extent rows{std::min(tile_rows_, rows_.size - r), rows_.from, rows_.to};
  const Extent cols{std::min(tile_cols_, cols_.size - c), cols_.from, cols_.to};
  from += (r * rows.from + c * cols.from) * bytes_;
  to += (r * rows.to + c * cols.to) * bytes_;
  switch (bytes_) {
    case 1:
      return copy_tile<uint8_t>(from, to, rows, cols);
    case 2:
      return copy_tile<uint16_t>(from, to, rows, cols);
    case 4:
      return copy_tile<uint32_t>(from, to, rows, cols);
    default:
      return copy_tile<uint64_t>(from, to, rows, cols);
  }
}

void StridedCopy::tiles(const std::byte* from, std::byte* to, int64_t first, int64_t last) const {
  if (count_ == 1 && first < last)
    return tile(from, to, 0);
  const int64_t per_plane = row_tiles_ * col_tiles_;
  Walk<2> walk = outer_;
  if (first < last)
    walk.seek(first / per_plane);
  for (int64_t i = first; i < last; ++i) {
    tile(from + walk.offset[0] * bytes_, to + walk.offset[1] * bytes_, i % per_plane);
    if ((i + 1) % per_plane == 0)
      walk.next();
  }
}

}  // namespace mtf
