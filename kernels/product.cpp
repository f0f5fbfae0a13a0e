// The exact product: cuts the result into blocks (one task each), packs what a block needs of both
// operands in the order of summation, and lets register tiles walk it; with few rows the larger
// operand is streamed instead. Which thread gets a block changes no sum: leaves and their merges
// come from the contraction's schedule.
#include <memory>
#include <optional>

#include "product_blocks.h"
#include "product_epilogue.h"
#include "product_isa.h"
#include "table.h"

namespace mtf {
namespace {

constexpr int64_t task_work = 64 << 10;  // multiply-adds worth a task of their own

// Where a block's sums go: the result itself, or a buffer that the epilogue reads.
template <class T>
struct Target {
  T* sums;
  int64_t rows[most_rows], columns[most_columns];  // offsets
  bool writable[most_columns];  // by panel: whole vectors may be written to its columns
};

template <class T>
class Product {
 public:
  Product(const KernelCall& call, Isa isa, const ProductKernels& kernels)
      : kernels_(kernels), contraction_(contraction_of(call, few_rows)) {
    for (const View& input : call.inputs)
      bf16_.push_back(input.dtype == DType::bf16);
    if (ProductEpilogue::needed(call))
      epilogue_.emplace(call, contraction_, isa);
    blocking_.emplace(contraction_, kernels.rows, kernels.lanes, sizeof_t,
                      epilogue_ ? epilogue_->bytes() : 0, epilogue_.has_value());
    streams_ = contraction_.rows <= few_rows && contraction_.columns >= kernels.lanes;
    for (const ContractionTerm& t : contraction_.terms)
      streams_ =
          streams_ && t.at_b.columns.streams(std::min(contraction_.columns, 2 * kernels.lanes));
    for (size_t i = 0; i < tile_offsets_.size(); ++i)
      tile_offsets_[i] = static_cast<int64_t>(i) * kernels.lanes;
  }
  Product(const Product&) = delete;

  void run(const KernelRun& r) const {
    const Grid grid = streams_ ? blocking_->strips(r.team.size) : blocking_->tiles(r.team.size);
    const int64_t blocks = grid.blocks(contraction_.batch);
    const int64_t work = grid.rows * grid.columns * contraction_.depth;
    const int64_t together =
        std::clamp<int64_t>(task_work / work, 1, divided_up(blocks, 4 * r.team.size));
    r.team.run(divided_up(blocks, together), [&](int64_t task, int thread) {
      std::byte* scratch = r.scratch.data() + thread * scratch_bytes_per_thread;
      for (int64_t b = task * together; b < std::min(blocks, (task + 1) * together); ++b) {
        const Block block = blocking_->block_of(grid, b);
        streams_ ? stream(r, block, Scratch(scratch)) : multiply(r, block, Scratch(scratch));
      }
    });
  }

 private:
  // Where one side of an operand starts for this batch index.
  const std::byte* operand(const KernelRun& r, int input, const Placement& at,
                           int64_t batch) const {
    return r.inputs[static_cast<size_t>(input)] + at.batch.offset(batch) * operand_bytes(input);
  }
  bool is_bf16(int input) const { return bf16_[static_cast<size_t>(input)]; }
  int64_t operand_bytes(int input) const { return is_bf16(input) ? 2 : sizeof_t; }

  // Packs terms [first, first + count) of one term's sum behind args.panels.
  void pack(const std::byte* source, int input, const Space& k, int64_t first, int64_t count,
            PackArgs args) const {
    k.runs(first, count, [&](int64_t offset, int64_t stride, int64_t n) {
      args.source = source + offset * operand_bytes(input);
      args.k_stride = stride;
      args.k_count = n;
      (is_bf16(input) ? kernels_.pack_bf16 : kernels_.pack)(args);
      args.panels = static_cast<T*>(args.panels) + n * args.width;
    });
  }

  // Packs a chunk of the block's rows of a (left) or columns of b.
  void pack_chunk(const KernelRun& r, const Chunk& chunk, const Block& block, bool left,
                  std::byte* panels) const {
    int64_t offsets[std::max(most_rows, most_columns)];
    PackArgs args{};
    args.rows = offsets;
    args.row_count = left ? block.rows : block.columns;
    args.width = left ? kernels_.rows : kernels_.lanes;
    args.height = left ? blocking_->height : kernels_.lanes;
    args.panel_stride = blocking_->panel(args.width);
    args.panels = panels;
    const auto& leaves = contraction_.leaves;
    const auto end = static_cast<size_t>(chunk.first + chunk.count);
    int32_t laid_out = -1;  // the term that `offsets` are of
    for (auto i = static_cast<size_t>(chunk.first); i < end;) {
      // Leaves that follow each other in memory are packed as one.
      const Leaf& leaf = leaves[i];
      int64_t count = 0;
      for (; i < end && leaves[i].term == leaf.term && leaves[i].first == leaf.first + count; ++i)
        count += leaves[i].length;
      const ContractionTerm& t = contraction_.terms[static_cast<size_t>(leaf.term)];
      const Placement& at = left ? t.at_a : t.at_b;
      if (laid_out != leaf.term)
        (left ? at.rows : at.columns)
            .offsets(left ? block.row : block.column, args.row_count, offsets);
      laid_out = leaf.term;
      const int input = left ? t.a : t.b;
      pack(operand(r, input, at, block.batch), input, left ? t.k_a : t.k_b, leaf.first, count,
           args);
      args.panels = static_cast<T*>(args.panels) + count * args.width;
    }
  }

  // `buffer` null: sums go to the result.
  void aim(Target<T>& target, const KernelRun& r, const Block& block, T* buffer) const {
    const Placement& at = contraction_.result;
    const int64_t stride = blocking_->buffer_stride(block.columns), vector = kernels_.lanes / 2;
    target.sums = buffer;
    if (buffer) {
      for (int64_t i = 0; i < block.rows; ++i)
        target.rows[i] = i * stride;
      for (int64_t j = 0; j < block.columns; ++j)
        target.columns[j] = j;
    } else {
      target.sums = reinterpret_cast<T*>(r.results[0]) + at.batch.offset(block.batch);
      at.rows.offsets(block.row, block.rows, target.rows);
      at.columns.offsets(block.column, block.columns, target.columns);
    }
    for (int64_t first = 0; first < block.columns; first += kernels_.lanes) {
      const int64_t count = std::min(kernels_.lanes, block.columns - first);
      target.writable[first / kernels_.lanes] =
          (buffer || count % vector == 0) && is_consecutive(target.columns + first, count);
    }
  }

  void multiply(const KernelRun& r, const Block& block, Scratch scratch) const {
    const Blocking& cut = *blocking_;
    const int64_t down = divided_up(block.rows, cut.height);
    const int64_t across = divided_up(block.columns, kernels_.lanes);
    const int64_t a_bytes = cut.panel(kernels_.rows) * sizeof_t;
    const int64_t b_bytes = cut.panel(kernels_.lanes) * sizeof_t;
    const int64_t stride = cut.buffer_stride(block.columns);
    std::byte* a = scratch.take(down * a_bytes);
    std::byte* b = scratch.take(across * b_bytes);
    std::byte* held = scratch.take(down * across * cut.held * cut.tile_bytes());
    std::byte* spare = scratch.take(cut.levels * cut.tile_bytes());
    T* buffer =
        epilogue_ ? reinterpret_cast<T*>(scratch.take(block.rows * stride * sizeof_t)) : nullptr;
    Target<T> target;
    aim(target, r, block, buffer);
    for (const Chunk& chunk : cut.chunks) {
      pack_chunk(r, chunk, block, true, a);
      pack_chunk(r, chunk, block, false, b);
      TileArgs t{};
      t.leaves = &contraction_.leaves[static_cast<size_t>(chunk.first)];
      t.count = chunk.count;
      t.spare = spare;
      t.held_levels = cut.held;
      t.height = chunk.waiting;
      for (int64_t j = 0; j < across; ++j)
        for (int64_t i = 0; i < down; ++i) {
          t.a = a + i * a_bytes;
          t.b = b + j * b_bytes;
          t.held = held + (j * down + i) * cut.held * cut.tile_bytes();
          walk(t, block, i * cut.height, j * kernels_.lanes,
               &chunk == &cut.chunks.back() ? &target : nullptr);
        }
    }
    finish(r, block, buffer, stride, scratch);
  }

  // Walks the tile at (row, column) of the block; the last chunk's sums go to the target.
  void walk(TileArgs& t, const Block& block, int64_t row, int64_t column,
            const Target<T>* target) const {
    const int64_t rows = std::min(blocking_->height, block.rows - row);
    const int64_t columns = std::min(kernels_.lanes, block.columns - column);
    const auto tile = kernels_.tile[rows - 1][columns > kernels_.lanes / 2];
    if (!target)
      return tile(t);
    alignas(cache_line) T own[most_tile_rows * most_tile_lanes];
    const bool direct = target->writable[column / kernels_.lanes];
    t.result = direct ? target->sums + target->columns[column] : own;
    t.result_rows = direct ? target->rows + row : tile_offsets_.data();
    tile(t);
    for (int64_t i = 0; i < rows && !direct; ++i)
      for (int64_t j = 0; j < columns; ++j)
        target->sums[target->rows[row + i] + target->columns[column + j]] =
            own[tile_offsets_[static_cast<size_t>(i)] + j];
  }

  void finish(const KernelRun& r, const Block& block, const T* sums, int64_t stride,
              Scratch scratch) const {
    if (epilogue_)
      epilogue_->run(r, {block.batch, block.row, block.rows, block.column, block.columns}, sums,
                     stride, scratch.take(epilogue_->bytes()));
  }

  // The waiting sums are a stack of [rows, stride]; the sum being made is on top.
  void stream(const KernelRun& r, const Block& block, Scratch scratch) const {
    const int64_t stride = blocking_->buffer_stride(block.columns), level = block.rows * stride;
    T* a = reinterpret_cast<T*>(scratch.take(few_rows * longest_leaf * sizeof_t));
    T* stack = reinterpret_cast<T*>(scratch.take(blocking_->levels * level * sizeof_t));
    int64_t height = 0;
    for (const Leaf& leaf : contraction_.leaves) {
      T* sum = stack + height++ * level;
      std::fill_n(sum, level, T{0});
      stream_leaf(r, block, leaf, a, sum, stride);
      for (int32_t m = leaf.merges; m > 0; --m, --height)
        kernels_.add(stack + (height - 2) * level, stack + (height - 1) * level, level);
    }
    if (epilogue_)
      return finish(r, block, stack, stride, scratch);
    const Placement& at = contraction_.result;
    T* result = reinterpret_cast<T*>(r.results[0]) + at.batch.offset(block.batch);
    for (int64_t i = 0; i < block.rows; ++i) {
      const T* from = stack + i * stride;
      T* to = result + at.rows.offset(block.row + i);
      at.columns.runs(block.column, block.columns, [&](int64_t offset, int64_t step, int64_t n) {
        for (int64_t j = 0; j < n; ++j)
          to[offset + j * step] = *from++;
      });
    }
  }

  void stream_leaf(const KernelRun& r, const Block& block, const Leaf& leaf, T* a, T* sum,
                   int64_t stride) const {
    const ContractionTerm& t = contraction_.terms[static_cast<size_t>(leaf.term)];
    int64_t rows[few_rows];
    t.at_a.rows.offsets(block.row, block.rows, rows);
    PackArgs args{};
    args.rows = rows;
    args.row_count = args.height = args.width = block.rows;
    args.panels = a;
    pack(operand(r, t.a, t.at_a, block.batch), t.a, t.k_a, leaf.first, leaf.length, args);
    const std::byte* b = operand(r, t.b, t.at_b, block.batch);
    const auto stream_run = is_bf16(t.b) ? kernels_.stream_bf16 : kernels_.stream;
    t.k_b.runs(leaf.first, leaf.length, [&](int64_t k_offset, int64_t k_stride, int64_t terms) {
      T* lanes = sum;
      t.at_b.columns.runs(block.column, block.columns, [&](int64_t offset, int64_t, int64_t n) {
        stream_run({a, b + (k_offset + offset) * operand_bytes(t.b), k_stride, terms, n, lanes,
                    stride, block.rows});
        lanes += n;
      });
      a += terms * block.rows;
    });
  }

  static constexpr int64_t sizeof_t = sizeof(T);
  const ProductKernels& kernels_;
  const Contraction contraction_;
  std::vector<bool> bf16_;  // by input
  std::optional<ProductEpilogue> epilogue_;
  std::optional<Blocking> blocking_;
  bool streams_ = false;
  std::array<int64_t, most_tile_rows> tile_offsets_{};  // of the rows of a tile by itself
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
Kernel prepare(const KernelCall& call, Isa isa, const ProductKernels& kernels) {
  auto product = std::make_shared<const Product<T>>(call, isa, kernels);
  return [product](const KernelRun& r) { product->run(r); };
}

}  // namespace

Kernel prepare_product(const KernelCall& call, Isa isa) {
  const bool f64 = call.inputs[static_cast<size_t>(call.terms[0].a)].dtype == DType::f64;
  const IsaProduct& kernels = kernels_of(isa);
  return f64 ? prepare<double>(call, isa, kernels.f64) : prepare<float>(call, isa, kernels.f32);
}

}  // namespace mtf
