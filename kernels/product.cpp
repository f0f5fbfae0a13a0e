// The exact product: cuts the result into blocks (one task each), packs what a block needs of both
// operands in the order of summation, and lets register tiles walk it; with few rows the larger
// operand is streamed instead. Which block a thread gets, and where K is cut into chunks, changes no
// sum: leaves and their merges come from the contraction's schedule.
#include <algorithm>
#include <memory>

#include "product_isa.h"
#include "table.h"

namespace mtf {
namespace {

constexpr int64_t most_rows = 192, most_columns = 512;  // of a block
constexpr int64_t chunk_terms = 512;                    // of the sum, packed at a time
constexpr int64_t strip_columns = 1024;                 // of a streamed block
constexpr int64_t task_terms = 1 << 16;                 // multiply-adds worth a task of their own
constexpr int64_t line = 64;

constexpr int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t rounded_up(int64_t a, int64_t b) { return divided_up(a, b) * b; }

// Leaves [first, first + count) are packed and walked together; `waiting` tiles are left from before.
struct Chunk {
  int64_t first = 0, count = 0, terms = 0, waiting = 0;
};

// A piece of the result.
struct Block {
  int64_t batch, row, rows, column, columns;
};

// How many blocks of what size the result is cut into.
struct Grid {
  int64_t rows, columns;  // of a block
  int64_t down, across;
  int64_t blocks(int64_t batches) const { return batches * down * across; }
};

// Where a block's sums go.
template <class T>
struct Target {
  Target(const Contraction& c, const Block& block, const KernelRun& r, int64_t lanes)
      : result(reinterpret_cast<T*>(r.results[0]) + c.result.batch.offset(block.batch)) {
    c.result.rows.offsets(block.row, block.rows, rows);
    c.result.columns.offsets(block.column, block.columns, columns);
    for (int64_t first = 0; first < block.columns; first += lanes)
      consecutive[first / lanes] =
          is_consecutive(columns + first, std::min(lanes, block.columns - first));
  }

  T* result;
  int64_t rows[most_rows], columns[most_columns];
  bool consecutive[most_columns];  // of each panel: its columns lie side by side
};

class Scratch {
 public:
  Scratch(std::byte* begin, int64_t bytes) : next_(begin), left_(bytes) {}
  std::byte* take(int64_t bytes) {
    bytes = rounded_up(bytes, line);
    left_ -= bytes;
    if (left_ < 0)
      __builtin_trap();
    next_ += bytes;
    return next_ - bytes;
  }

 private:
  std::byte* next_;
  int64_t left_;
};

template <class T>
class Product {
 public:
  Product(const KernelCall& call, const ProductKernels& kernels)
      : call_(call), kernels_(kernels), contraction_(contraction_of(call, few_rows)) {
    streams_ = contraction_.rows <= few_rows && contraction_.columns >= kernels.lanes;
    for (const ContractionTerm& t : contraction_.terms)
      streams_ = streams_ && t.at_b.columns.streams(std::min<int64_t>(contraction_.columns, 64));
    cut_chunks();
    height_ = divided_up(contraction_.rows, divided_up(contraction_.rows, kernels_.rows));
    for (size_t i = 0; i < buffer_rows_.size(); ++i)
      buffer_rows_[i] = static_cast<int64_t>(i) * kernels_.lanes;
  }

  void run(const KernelRun& r) const {
    const Grid grid = streams_ ? strips(r.team.size) : tiles(r.team.size);
    const int64_t blocks = grid.blocks(contraction_.batch);
    const int64_t work = grid.rows * grid.columns * contraction_.depth;
    const int64_t together = std::max<int64_t>(1, std::min(blocks / (4 * r.team.size),
                                                           task_terms / work));
    r.team.run(divided_up(blocks, together), [&](int64_t task, int thread) {
      std::byte* scratch = r.scratch.data() + thread * scratch_bytes_per_thread;
      for (int64_t b = task * together; b < std::min(blocks, (task + 1) * together); ++b)
        if (streams_)
          stream(r, block_of(grid, b), scratch);
        else
          multiply(r, block_of(grid, b), scratch);
    });
  }

 private:
  // K in chunks of whole leaves, of equal size as nearly as the leaves allow.
  void cut_chunks() {
    const int64_t target =
        divided_up(contraction_.depth, divided_up(contraction_.depth, chunk_terms));
    int64_t waiting = 0;
    Chunk chunk;
    for (size_t i = 0; i < contraction_.leaves.size(); ++i) {
      const Leaf& leaf = contraction_.leaves[i];
      if (chunk.count > 0 && chunk.terms + leaf.length > target) {
        chunks_.push_back(chunk);
        chunk = {static_cast<int64_t>(i), 0, 0, waiting};
        held_ = std::max(held_, waiting);
      }
      ++chunk.count;
      chunk.terms += leaf.length;
      levels_ = std::max(levels_, waiting + 1);
      waiting += 1 - leaf.merges;
    }
    chunks_.push_back(chunk);
    for (const Chunk& c : chunks_)
      packed_terms_ = std::max(packed_terms_, c.terms);
  }

  int64_t tile_bytes() const { return kernels_.rows * kernels_.lanes * sizeof_t; }
  // One line of padding keeps panels of a power-of-two size from sharing cache sets.
  int64_t panel_elements(int64_t width) const {
    return rounded_up(packed_terms_ * width, line / sizeof_t) + line / sizeof_t;
  }

  int64_t scratch_bytes(int64_t rows, int64_t columns) const {
    const int64_t down = divided_up(rows, height_), across = divided_up(columns, kernels_.lanes);
    return (down * panel_elements(kernels_.rows) + across * panel_elements(kernels_.lanes)) *
               sizeof_t +
           (down * across * held_ + levels_ + 1) * tile_bytes() + 4 * line;
  }

  Grid cut(int64_t rows, int64_t columns) const {
    return {rows, columns, divided_up(contraction_.rows, rows),
            divided_up(contraction_.columns, columns)};
  }

  // The largest blocks that fit the scratch and leave every thread some.
  Grid tiles(int threads) const {
    const Contraction& c = contraction_;
    int64_t down = std::min(divided_up(c.rows, height_), most_rows / height_);
    int64_t across = divided_up(std::min(c.columns, most_columns), kernels_.lanes);
    while (down * across > 1) {
      const Grid grid = cut(down * height_, across * kernels_.lanes);
      const bool fits = scratch_bytes(grid.rows, grid.columns) <= scratch_bytes_per_thread;
      const bool enough = threads == 1 || grid.blocks(c.batch) >= 3 * threads ||
                          grid.rows * grid.columns * c.depth < 4 * task_terms;
      if (fits && enough)
        break;
      int64_t& longer = grid.columns >= grid.rows && across > 1 ? across : down;
      longer = divided_up(longer, 2);
    }
    return cut(down * height_, across * kernels_.lanes);
  }

  Grid strips(int threads) const {
    const Contraction& c = contraction_;
    const int64_t level_bytes = (levels_ + 1) * c.rows * sizeof_t;
    const int64_t fit = (scratch_bytes_per_thread / 2 / level_bytes) / line * line;
    int64_t columns = std::min(strip_columns, fit);
    while (columns > 256 && divided_up(c.columns, columns) * c.batch < 3 * threads)
      columns /= 2;
    return cut(c.rows, std::min(c.columns, columns));
  }

  Block block_of(const Grid& grid, int64_t index) const {
    const int64_t across = index % grid.across, down = index / grid.across % grid.down;
    const int64_t row = down * grid.rows, column = across * grid.columns;
    return {index / grid.across / grid.down, row, std::min(grid.rows, contraction_.rows - row),
            column, std::min(grid.columns, contraction_.columns - column)};
  }

  // Where the elements of one side of an operand start, for this batch index.
  const std::byte* operand(const KernelRun& r, int input, const Placement& at,
                           int64_t batch) const {
    return r.inputs[static_cast<size_t>(input)] +
           at.batch.offset(batch) * size_of(call_.inputs[static_cast<size_t>(input)].dtype);
  }
  bool is_bf16(int input) const {
    return call_.inputs[static_cast<size_t>(input)].dtype == DType::bf16;
  }
  int64_t operand_size(int input) const { return is_bf16(input) ? 2 : sizeof_t; }

  // Packs terms [first, first + count) of one term's sum behind `panels`.
  void pack(const std::byte* source, int input, const Space& k, int64_t first, int64_t count,
            PackArgs args) const {
    k.runs(first, count, [&](int64_t offset, int64_t stride, int64_t n) {
      args.source = source + offset * operand_size(input);
      args.k_stride = stride;
      args.k_count = n;
      (is_bf16(input) ? kernels_.pack_bf16 : kernels_.pack)(args);
      args.panels = static_cast<T*>(args.panels) + n * args.width;
    });
  }

  // Packs one side of a block over a chunk; `rows` are the block's on that side.
  void pack_chunk(const KernelRun& r, const Chunk& chunk, const Block& block, bool left,
                  std::byte* panels, int64_t* offsets) const {
    PackArgs args{};
    args.rows = offsets;
    args.row_count = left ? block.rows : block.columns;
    args.width = left ? kernels_.rows : kernels_.lanes;
    args.height = left ? height_ : kernels_.lanes;
    args.panel_stride = panel_elements(args.width);
    int64_t packed = 0, before = -1;
    for (int64_t i = chunk.first; i < chunk.first + chunk.count;) {
      const Leaf& leaf = contraction_.leaves[static_cast<size_t>(i)];
      int64_t terms = 0;
      for (; i < chunk.first + chunk.count; ++i) {
        const Leaf& next = contraction_.leaves[static_cast<size_t>(i)];
        if (next.term != leaf.term || next.first != leaf.first + terms)
          break;
        terms += next.length;
      }
      const ContractionTerm& t = contraction_.terms[static_cast<size_t>(leaf.term)];
      const Placement& at = left ? t.at_a : t.at_b;
      if (leaf.term != before)
        (left ? at.rows : at.columns)
            .offsets(left ? block.row : block.column, args.row_count, offsets);
      before = leaf.term;
      const int input = left ? t.a : t.b;
      args.panels = reinterpret_cast<T*>(panels) + packed * args.width;
      pack(operand(r, input, at, block.batch), input, left ? t.k_a : t.k_b, leaf.first, terms,
           args);
      packed += terms;
    }
  }

  void multiply(const KernelRun& r, const Block& block, std::byte* memory) const {
    int64_t offsets[most_columns];
    const int64_t down = divided_up(block.rows, height_);
    const int64_t across = divided_up(block.columns, kernels_.lanes);
    const int64_t a_panel = panel_elements(kernels_.rows) * sizeof_t;
    const int64_t b_panel = panel_elements(kernels_.lanes) * sizeof_t;
    Scratch scratch(memory, scratch_bytes_per_thread);
    std::byte* a = scratch.take(down * a_panel);
    std::byte* b = scratch.take(across * b_panel);
    std::byte* held = scratch.take(down * across * held_ * tile_bytes());
    std::byte* spare = scratch.take(levels_ * tile_bytes());
    const Target<T> target(contraction_, block, r, kernels_.lanes);
    for (const Chunk& chunk : chunks_) {
      pack_chunk(r, chunk, block, true, a, offsets);
      pack_chunk(r, chunk, block, false, b, offsets);
      TileArgs t{};
      t.leaves = &contraction_.leaves[static_cast<size_t>(chunk.first)];
      t.count = chunk.count;
      t.spare = spare;
      t.held_levels = held_;
      t.height = chunk.waiting;
      for (int64_t j = 0; j < across; ++j)
        for (int64_t i = 0; i < down; ++i) {
          t.a = a + i * a_panel;
          t.b = b + j * b_panel;
          t.held = held + (j * down + i) * held_ * tile_bytes();
          walk(t, block, i * height_, j * kernels_.lanes,
               &chunk == &chunks_.back() ? &target : nullptr);
        }
    }
  }

  // Walks the tile at (row, column) of the block. The last chunk's sums go to the target, directly
  // where whole vectors of them lie side by side.
  void walk(TileArgs& t, const Block& block, int64_t row, int64_t column,
            const Target<T>* target) const {
    const int64_t vector = kernels_.lanes / 2;
    const int64_t rows = std::min(height_, block.rows - row);
    const int64_t columns = std::min(kernels_.lanes, block.columns - column);
    const auto tile = kernels_.tile[rows - 1][columns > vector];
    if (!target)
      return tile(t);
    alignas(line) T buffer[most_tile_rows * most_tile_lanes];
    const bool direct = columns % vector == 0 && target->consecutive[column / kernels_.lanes];
    t.result = direct ? target->result + target->columns[column] : buffer;
    t.result_rows = direct ? target->rows + row : buffer_rows_.data();
    tile(t);
    t.result = nullptr;
    if (direct)
      return;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        target->result[target->rows[row + i] + target->columns[column + j]] =
            buffer[i * kernels_.lanes + j];
  }

  void stream(const KernelRun& r, const Block& block, std::byte* memory) const {
    Scratch scratch(memory, scratch_bytes_per_thread);
    const int64_t stride = rounded_up(block.columns, line / sizeof_t);
    const int64_t level = block.rows * stride;
    T* a = reinterpret_cast<T*>(scratch.take(few_rows * longest_leaf * sizeof_t));
    T* stack = reinterpret_cast<T*>(scratch.take(levels_ * level * sizeof_t));
    int64_t height = 0;
    for (const Leaf& leaf : contraction_.leaves) {
      T* acc = stack + height++ * level;
      std::fill_n(acc, level, T{0});
      stream_leaf(r, block, leaf, a, acc, stride);
      for (int32_t m = leaf.merges; m > 0; --m, --height)
        kernels_.add(stack + (height - 2) * level, stack + (height - 1) * level, level);
    }
    T* result = reinterpret_cast<T*>(r.results[0]) + contraction_.result.batch.offset(block.batch);
    for (int64_t i = 0; i < block.rows; ++i) {
      const T* from = stack + i * stride;
      T* to = result + contraction_.result.rows.offset(block.row + i);
      contraction_.result.columns.runs(block.column, block.columns,
                                       [&](int64_t offset, int64_t step, int64_t n) {
                                         for (int64_t j = 0; j < n; ++j)
                                           to[offset + j * step] = *from++;
                                       });
    }
  }

  void stream_leaf(const KernelRun& r, const Block& block, const Leaf& leaf, T* a, T* acc,
                   int64_t acc_stride) const {
    const ContractionTerm& t = contraction_.terms[static_cast<size_t>(leaf.term)];
    int64_t rows[few_rows];
    t.at_a.rows.offsets(block.row, block.rows, rows);
    PackArgs args{};
    args.rows = rows;
    args.row_count = args.height = args.width = block.rows;
    args.panels = a;
    pack(operand(r, t.a, t.at_a, block.batch), t.a, t.k_a, leaf.first, leaf.length, args);
    const std::byte* b = operand(r, t.b, t.at_b, block.batch);
    t.k_b.runs(leaf.first, leaf.length, [&](int64_t k_offset, int64_t k_stride, int64_t terms) {
      T* sums = acc;
      t.at_b.columns.runs(
          block.column, block.columns, [&](int64_t offset, int64_t, int64_t lanes) {
            (is_bf16(t.b) ? kernels_.stream_bf16 : kernels_.stream)(
                {a, b + (k_offset + offset) * operand_size(t.b), k_stride, terms, lanes, sums,
                 acc_stride, block.rows});
            sums += lanes;
          });
      a += terms * block.rows;
    });
  }

  static constexpr int64_t sizeof_t = sizeof(T);
  KernelCall call_;
  const ProductKernels& kernels_;
  Contraction contraction_;
  bool streams_ = false;
  std::vector<Chunk> chunks_;
  int64_t held_ = 0;    // most tiles that wait from one chunk to the next
  int64_t levels_ = 1;  // most sums that wait at once, the one being made included
  int64_t packed_terms_ = 0;
  int64_t height_ = 1;  // rows of a panel
  std::array<int64_t, most_tile_rows> buffer_rows_{};
};

const IsaProduct& kernels_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512)
    return product_avx512;
  if (isa == Isa::avx2)
    return product_avx2;
#endif
  return product_portable;
}

template <class T>
Kernel prepare(const KernelCall& call, const ProductKernels& kernels) {
  auto product = std::make_shared<Product<T>>(call, kernels);
  return [product](const KernelRun& r) { product->run(r); };
}

}  // namespace

Kernel prepare_product(const KernelCall& call, Isa isa) {
  const bool f64 = call.inputs[static_cast<size_t>(call.terms[0].a)].dtype == DType::f64;
  const IsaProduct& kernels = kernels_of(isa);
  return f64 ? prepare<double>(call, kernels.f64) : prepare<float>(call, kernels.f32);
}

}  // namespace mtf
