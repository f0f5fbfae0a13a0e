// Gives every dim of a product call its role, lays the index spaces out and writes the schedule of
// leaves.
#include "contraction.h"

#include <bit>
#include <cstdio>
#include <cstdlib>

namespace mtf {
namespace {

void require(bool condition, const char* message) {
  if (condition)
    return;
  std::fprintf(stderr, "mtf: internal error: product: %s\n", message);
  std::abort();
}

struct Stride {
  int64_t size = 1, stride = 0;  // stride 0: the view lacks the dim
  bool found = false;
};

Stride stride_of(const View& view, DimId dim) {
  int64_t stride = 1;
  for (size_t i = view.dims.size(); i-- > 0;) {
    if (view.dims[i] == dim)
      return {view.size[i],
              view.size[i] == 1     ? 0
              : view.stride.empty() ? stride
                                    : view.stride[i],
              true};
    stride *= view.size[i];
  }
  return {};
}

enum class Side : uint8_t { batch, row, column };

struct Operands {
  int a, b;
};

// One dim of the result within the operands of one term: for a kept block dim, the step to the next
// block of the dim that it cuts.
int64_t operand_stride(const KernelCall& call, const Term& term, int input, DimId dim) {
  const View& view = call.inputs[static_cast<size_t>(input)];
  for (const Reduced& r : term.reduced)
    if (r.kept == dim) {
      const Stride s = stride_of(view, r.dim);
      return s.size / r.blocks * s.stride;
    }
  return stride_of(view, dim).stride;
}

bool is_kept(const Term& term, DimId dim) {
  return std::any_of(term.reduced.begin(), term.reduced.end(),
                     [&](const Reduced& r) { return r.kept == dim; });
}

Side side_in(const KernelCall& call, const Term& term, Operands operands, DimId dim) {
  if (is_kept(term, dim))
    return Side::batch;
  const bool in_a = stride_of(call.inputs[static_cast<size_t>(operands.a)], dim).found;
  const bool in_b = stride_of(call.inputs[static_cast<size_t>(operands.b)], dim).found;
  if (in_a == in_b)
    return Side::batch;
  return in_a ? Side::row : Side::column;
}

// Terms may name their operands in either order; a later term is turned to agree with the first.
std::vector<Operands> agreeing_operands(const KernelCall& call) {
  std::vector<Operands> all;
  for (const Term& term : call.terms) {
    Operands o{term.a, term.b};
    for (DimId dim : call.results[0].dims) {
      const Side first = all.empty() ? Side::batch : side_in(call, call.terms[0], all[0], dim);
      const Side own = side_in(call, term, o, dim);
      if (first != Side::batch && own != Side::batch && first != own) {
        std::swap(o.a, o.b);
        break;
      }
    }
    all.push_back(o);
  }
  return all;
}

// A dim is a row (column) if every term has it in a (b) alone; batch is right for any dim.
std::vector<Side> sides_of(const KernelCall& call, const std::vector<Operands>& operands) {
  std::vector<Side> sides;
  for (DimId dim : call.results[0].dims) {
    const Side side = side_in(call, call.terms[0], operands[0], dim);
    bool same = true;
    for (size_t t = 1; t < call.terms.size(); ++t)
      same = same && side_in(call, call.terms[t], operands[t], dim) == side;
    sides.push_back(same ? side : Side::batch);
  }
  return sides;
}

void choose_rows(const View& result, int64_t few_rows, std::vector<Operands>& operands,
                 std::vector<Side>& sides) {
  int64_t rows = 1, columns = 1;
  Side innermost = Side::column;
  for (size_t i = 0; i < sides.size(); ++i) {
    if (sides[i] == Side::row)
      rows *= result.size[i];
    if (sides[i] == Side::column)
      columns *= result.size[i];
    if (result.size[i] > 1)
      innermost = sides[i];
  }
  const bool thin = std::min(rows, columns) <= few_rows;
  if (thin ? rows <= columns : innermost != Side::row)
    return;
  for (Operands& o : operands)
    std::swap(o.a, o.b);
  for (Side& side : sides)
    if (side != Side::batch)
      side = side == Side::row ? Side::column : Side::row;
}

// Lays the result's dims, by side, over memory that has `stride_at(dim)`.
template <class F>
Placement place(const View& result, const std::vector<Side>& sides, F stride_at) {
  Placement p;
  for (size_t i = 0; i < sides.size(); ++i) {
    Space& space = sides[i] == Side::batch ? p.batch : sides[i] == Side::row ? p.rows : p.columns;
    space.append(result.size[i], stride_at(result.dims[i]));
  }
  return p;
}

// The blocks that are folded, outermost first, then the elements within a block: the order in which
// the leaves of a term follow each other.
Space k_space(const KernelCall& call, const Term& term, int input) {
  const View& view = call.inputs[static_cast<size_t>(input)];
  const auto extent = [&](const Reduced& r) {
    return std::max(stride_of(call.inputs[static_cast<size_t>(term.a)], r.dim).size,
                    stride_of(call.inputs[static_cast<size_t>(term.b)], r.dim).size);
  };
  Space space;
  for (const Reduced& r : term.reduced)
    if (r.kept.index < 0)
      space.append(r.blocks, extent(r) / r.blocks * stride_of(view, r.dim).stride);
  for (const Reduced& r : term.reduced)
    space.append(extent(r) / r.blocks, stride_of(view, r.dim).stride);
  return space;
}

class Schedule {
 public:
  Schedule(const KernelCall& call, const Contraction& c) : call_(call) {
    for (size_t t = 0; t < call.terms.size(); ++t) {
      int64_t blocks = 1;
      folded_.emplace_back();
      for (const Reduced& r : call.terms[t].reduced)
        if (r.kept.index < 0) {
          blocks *= r.blocks;
          folded_.back().push_back(r.blocks);
        }
      leaf_length_.push_back(c.terms[t].k_a.size() / blocks);
    }
  }

  std::vector<Leaf> leaves() {
    const std::vector<Reduced>& first = call_.terms[0].reduced;
    const bool outer_folded = !first.empty() && first[0].kept.index < 0;
    if (!outer_folded) {
      sum_of_terms(0, 0);
      return std::move(leaves_);
    }
    tree(0, first[0].blocks, [&](int64_t block) { sum_of_terms(block, 1); });
    return std::move(leaves_);
  }

 private:
  // The binary tree over blocks [begin, begin + count); -0.0 leaves change nothing and are left
  // out.
  template <class F>
  void tree(int64_t begin, int64_t count, F value) {
    if (count == 1)
      return value(begin);
    const int64_t left = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)) / 2);
    tree(begin, left, value);
    tree(begin + left, count - left, value);
    ++leaves_.back().merges;
  }

  void sum_of_terms(int64_t block, size_t level) {
    for (size_t t = 0; t < call_.terms.size(); ++t) {
      fold(t, block, level);
      if (t > 0)
        ++leaves_.back().merges;
    }
  }

  // The inner trees of one term below the block index `prefix` of its first `level` folded dims.
  void fold(size_t term, int64_t prefix, size_t level) {
    if (level == folded_[term].size())
      return chain(static_cast<int32_t>(term), prefix * leaf_length_[term], leaf_length_[term]);
    const int64_t blocks = folded_[term][level];
    tree(0, blocks, [&](int64_t block) { fold(term, prefix * blocks + block, level + 1); });
  }

  void chain(int32_t term, int64_t first, int64_t length) {
    if (length <= longest_leaf) {
      leaves_.push_back({first, term, static_cast<int32_t>(length), 0});
      return;
    }
    const int64_t half = (length + 1) / 2;
    chain(term, first, half);
    chain(term, first + half, length - half);
    ++leaves_.back().merges;
  }

  const KernelCall& call_;
  std::vector<std::vector<int64_t>> folded_;  // block counts of the folded dims, by term
  std::vector<int64_t> leaf_length_;
  std::vector<Leaf> leaves_;
};

void check_terms(const KernelCall& call) {
  require(!call.terms.empty(), "no terms");
  const auto outer = [](const Term& t) { return t.reduced.empty() ? Reduced{} : t.reduced[0]; };
  for (const Term& term : call.terms) {
    require(outer(term).blocks == outer(call.terms[0]).blocks &&
                outer(term).kept == outer(call.terms[0]).kept,
            "terms with different outermost blocks");
    bool folded = false;  // a dim that is not cut has nothing to fold
    for (const Reduced& r : term.reduced) {
      require(r.kept.index < 0 || !folded, "a kept block dim inside a folded one");
      folded = folded || (r.kept.index < 0 && r.blocks > 1);
    }
    for (int input : {term.a, term.b})
      for (DimId dim : call.inputs[static_cast<size_t>(input)].dims) {
        const bool reduced = std::any_of(term.reduced.begin(), term.reduced.end(),
                                         [&](const Reduced& r) { return r.dim == dim; });
        const View& view = call.inputs[static_cast<size_t>(input)];
        require(reduced || stride_of(view, dim).size == 1 || stride_of(call.results[0], dim).found,
                "an operand's dim is neither kept nor reduced");
      }
  }
}

}  // namespace

void Space::append(int64_t size, int64_t stride) {
  if (size == 1)
    return;
  Axis* last = rank_ ? &axes_[static_cast<size_t>(rank_ - 1)] : nullptr;
  if (last && last->stride == size * stride) {
    *last = {last->size * size, stride};
    return;
  }
  require(rank_ < max_axes, "too many dims");
  axes_[static_cast<size_t>(rank_++)] = {size, stride};
}

int64_t Space::size() const {
  int64_t n = 1;
  for (int i = 0; i < rank_; ++i)
    n *= axes_[static_cast<size_t>(i)].size;
  return n;
}

int64_t Space::offset(int64_t index) const {
  int64_t sum = 0;
  for (int i = rank_; i-- > 0;) {
    const Axis axis = axes_[static_cast<size_t>(i)];
    if (i == 0)
      return sum + index * axis.stride;
    sum += index % axis.size * axis.stride;
    index /= axis.size;
  }
  return sum;
}

void Space::offsets(int64_t begin, int64_t count, int64_t* out) const {
  runs(begin, count, [&](int64_t first, int64_t stride, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      *out++ = first + i * stride;
  });
}

bool Space::streams(int64_t run) const {
  if (rank_ == 0)
    return run <= 1;
  const Axis last = axes_[static_cast<size_t>(rank_ - 1)];
  return last.stride == 1 && last.size >= run;
}

Contraction contraction_of(const KernelCall& call, int64_t few_rows) {
  check_terms(call);
  const View& result = call.results[0];
  std::vector<Operands> operands = agreeing_operands(call);
  std::vector<Side> sides = sides_of(call, operands);
  choose_rows(result, few_rows, operands, sides);

  Contraction c;
  c.result = place(result, sides, [&](DimId dim) { return stride_of(result, dim).stride; });
  c.batch = c.result.batch.size();
  c.rows = c.result.rows.size();
  c.columns = c.result.columns.size();
  for (size_t t = 0; t < call.terms.size(); ++t) {
    const Term& term = call.terms[t];
    const auto placed = [&](int input) {
      return place(result, sides,
                   [&](DimId dim) { return operand_stride(call, term, input, dim); });
    };
    const auto [a, b] = operands[t];
    c.terms.push_back({a, b, placed(a), placed(b), k_space(call, term, a), k_space(call, term, b)});
    c.depth += c.terms.back().k_a.size();
  }
  for (Side side : {Side::batch, Side::row, Side::column})
    for (size_t i = 0; i < sides.size(); ++i)
      if (sides[i] == side)
        c.order.push_back(result.dims[i]);
  c.leaves = Schedule(call, c).leaves();
  return c;
}

}  // namespace mtf
