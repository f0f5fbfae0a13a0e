// reduce: sum, max or min of an elementwise body over named dims, in the order of additions that
// docs/NUMERICS.md 2 fixes: leaves of 16 chains, then a binary tree over each dim's blocks. The
// operands are walked as leaf after leaf; `width` kept elements that lie side by side are summed at
// once, so that sums of rows (width 1) and of columns are one algorithm.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "elementwise.h"
#include "table.h"

namespace mtf {
namespace {

constexpr int64_t chains = 16, widest = 2048, task_elements = 16 << 10;
constexpr int64_t batch_bytes = 32 << 10;  // leaves kept at once, unless one result has more
constexpr int64_t leaves_bytes = 2 << 20;  // room for leaves in a thread's scratch

// One loop over `extent` steps; strides of the inputs, then of the result.
struct Loop {
  int64_t extent;
  std::vector<int64_t> strides;

  Loop times(int64_t steps, int64_t k) const {
    Loop l{steps, strides};
    for (int64_t& s : l.strides)
      s *= k;
    return l;
  }
};

// The walk of one part of the result: a leaf is `length` rows of `width` positions, `leaves` of
// them make one row of the result.
struct Part {
  Nest nest;    // all positions, a leaf's together
  Nest result;  // rows of the result
  int64_t rows, width;
};

struct Shape {  // loops, outermost first
  std::vector<Loop> outer, folded, leaf;
  Loop inner;
};

int64_t product(const std::vector<Loop>& loops) {
  int64_t n = 1;
  for (const Loop& l : loops)
    n *= l.extent;
  return n;
}

Loop loop_over(const KernelCall& call, DimId dim) {
  Loop l{1, {}};
  for (const View& v : call.inputs) {
    l.strides.push_back(stride_of(v, dim));
    for (size_t i = 0; i < v.dims.size(); ++i)
      if (v.dims[i] == dim)
        l.extent = v.size[i];
  }
  l.strides.push_back(stride_of(call.results[0], dim));
  return l;
}

// Kept dims in the order of the largest input; the innermost loop over those that it has innermost
// becomes `inner`.
void add_kept(const KernelCall& call, Shape& shape) {
  auto elements = [](const View& v) {
    int64_t n = 1;
    for (int64_t s : v.size)
      n *= s;
    return n;
  };
  std::vector<const View*> views;
  for (const View& v : call.inputs)
    views.push_back(&v);
  std::stable_sort(views.begin(), views.end(),
                   [&](auto* a, auto* b) { return elements(*a) > elements(*b); });
  auto is_reduced = [&](DimId d) {
    return std::any_of(call.reduced.begin(), call.reduced.end(),
                       [&](const Reduced& r) { return r.dim == d; });
  };
  std::vector<DimId> kept;
  for (const View* v : views)
    for (DimId d : v->dims)
      if (!is_reduced(d) && std::find(kept.begin(), kept.end(), d) == kept.end())
        kept.push_back(d);
  const auto& main = views[0]->dims;
  auto suffix = main.end();
  while (suffix != main.begin() && !is_reduced(suffix[-1]))
    --suffix;
  Nest dense;
  dense.add(1, std::vector<int64_t>(call.inputs.size() + 1, 0));
  for (auto d = suffix; d != main.end(); ++d) {
    Loop l = loop_over(call, *d);
    dense.add(l.extent, l.strides);
  }
  dense.collapse();
  for (DimId d : kept)
    if (std::find(suffix, main.end(), d) == main.end())
      shape.outer.push_back(loop_over(call, d));
  for (size_t i = 0; i < dense.size.size(); ++i) {
    Loop l{dense.size[i], {}};
    for (const auto& s : dense.stride)
      l.strides.push_back(s[i]);
    if (i + 1 < dense.size.size())
      shape.outer.push_back(l);
    else
      shape.inner = l;
  }
}

Shape shape_of(const KernelCall& call) {
  Shape shape;
  add_kept(call, shape);
  for (const Reduced& r : call.reduced) {
    Loop leaf = loop_over(call, r.dim);
    if (r.blocks < 1 || leaf.extent % r.blocks != 0)
      kernel_bug("a reduced dim is not a multiple of its blocks");
    leaf.extent /= r.blocks;
    Loop blocks = leaf.times(r.blocks, leaf.extent);
    blocks.strides.back() = r.kept.index >= 0 ? stride_of(call.results[0], r.kept) : 0;
    (r.kept.index >= 0 ? shape.outer : shape.folded).push_back(blocks);
    shape.leaf.push_back(leaf);
  }
  return shape;
}

// Positions [begin, begin + count * width) of the inner loop.
Part part_of(const Shape& shape, int64_t begin, int64_t count, int64_t width) {
  Part p{{}, {}, product(shape.outer) * count, width};
  auto add = [](Nest& nest, const Loop& l) { nest.add(l.extent, l.strides); };
  auto outer = shape.outer;
  outer.push_back(shape.inner.times(count, width));
  for (const std::vector<Loop>* loops : {&std::as_const(outer), &shape.folded, &shape.leaf})
    for (const Loop& l : *loops)
      add(p.nest, l);
  for (const Loop& l : outer)
    add(p.result, l);
  for (Nest* nest : {&p.nest, &p.result}) {
    add(*nest, shape.inner.times(width, 1));
    for (size_t o = 0; o < nest->base.size(); ++o)
      nest->base[o] = begin * shape.inner.strides[o];
  }
  p.result.base = {p.result.base.back()};
  p.result.stride = {p.result.stride.back()};
  p.nest.collapse();
  p.result.collapse();
  return p;
}

std::vector<Part> parts_of(const Shape& shape, int64_t limit) {
  const int64_t n = shape.inner.extent;
  if (n == 0)
    return {};
  const int64_t pieces = (n + limit - 1) / limit;
  const int64_t width = std::min((((n + pieces - 1) / pieces) + 15) / 16 * 16, std::min(n, limit));
  std::vector<Part> parts = {part_of(shape, 0, n / width, width)};
  if (n % width > 0)
    parts.push_back(part_of(shape, n / width * width, 1, n % width));
  return parts;
}

struct Reduce {
  const Loops& loops;
  const FoldLoops& fold;
  Class held;
  TileBody body;
  DType type;                   // of the result
  std::vector<int64_t> folded;  // trees, outermost first: the blocks of each folded dim
  int64_t leaves, length;       // of one row of the result; of one leaf
  std::vector<Part> parts;

  // A thread's scratch: the body's, the chains, the leaves.
  int64_t chains_at() const { return body.bytes(); }
  int64_t leaves_at() const { return chains_at() + chains * widest * 8; }
  int64_t bytes_of(int64_t values) const { return values * size_of(held); }

  void run(const KernelRun&, const Part&) const;
  void sum_leaves(const KernelRun&, const Part&, int64_t begin, int64_t end, std::byte* out,
                  std::byte* scratch) const;
  void sum_leaf(const KernelRun&, const Part&, int64_t leaf, std::byte* out,
                std::byte* scratch) const;
  void finish(const KernelRun&, const Part&, int64_t row, int64_t rows,
              std::byte* leaf_values) const;
};

// Leaves [begin, end) of a part, each `width` values, to `out`.
void Reduce::sum_leaves(const KernelRun& run, const Part& part, int64_t begin, int64_t end,
                        std::byte* out, std::byte* scratch) const {
  body.begin(scratch, part.nest, run.inputs);
  const int64_t leaf = length * part.width, stop = end * leaf;
  for (int64_t at = begin * leaf; at < stop;) {
    int64_t n = body.stretch(part.nest, at, stop - at);
    if (length > 1)
      n = part.width == 1 ? n / leaf * leaf : 0;
    if (n == 0) {
      sum_leaf(run, part, at, out, scratch);
      at += leaf;
      out += bytes_of(part.width);
      continue;
    }
    void* target[] = {length == 1 ? out : nullptr};
    body.run(scratch, part.nest, run.inputs, at, n, target);
    const void* values = body.value(scratch, 0);
    if (length > 1)
      fold.leaves(out, values, n / leaf, length);
    else if (values != out)
      std::memcpy(out, values, static_cast<size_t>(bytes_of(n)));
    out += bytes_of(n / length);
    at += n;
  }
}

// The leaf that starts at position `start`, longer than a tile or several columns wide: its rows go
// in turn to 16 rows of chains.
void Reduce::sum_leaf(const KernelRun& run, const Part& part, int64_t start, std::byte* out,
                      std::byte* scratch) const {
  const int64_t period = chains * part.width, leaf = length * part.width;
  std::byte* sums = scratch + chains_at();
  fold.clear(sums, period);
  void* nowhere[] = {nullptr};
  for (int64_t at = 0; at < leaf;) {
    int64_t n = body.stretch(part.nest, start + at, leaf - at);
    body.run(scratch, part.nest, run.inputs, start + at, n, nowhere);
    auto* values = static_cast<const std::byte*>(body.value(scratch, 0));
    for (int64_t done = 0; done < n;) {
      const int64_t chain = (at + done) % period;
      int64_t m = std::min(n - done, period - chain);
      if (part.width == 1 && chain == 0) {
        m = n - done;
        fold.chains(sums, values + bytes_of(done), m);
      } else {
        std::byte* to = sums + bytes_of(chain);
        fold.combine(to, values + bytes_of(done), nullptr, to, m, 0);
      }
      done += m;
    }
    at += n;
  }
  fold.tree(sums, 1, chains, part.width);
  std::memcpy(out, sums, static_cast<size_t>(bytes_of(part.width)));
}

// Folds the leaves of `rows` rows from `row` on and stores the rows.
void Reduce::finish(const KernelRun& run, const Part& part, int64_t row, int64_t rows,
                    std::byte* leaf_values) const {
  int64_t groups = rows * leaves;
  for (size_t i = folded.size(); i-- > 0;) {
    groups /= folded[i];
    fold.tree(leaf_values, groups, folded[i], part.width);
  }
  if (type != plain_dtype[static_cast<int>(held)])
    loops.convert[static_cast<int>(held)][static_cast<int>(type)](
        leaf_values, nullptr, nullptr, leaf_values, rows * part.width, 0);
  const int64_t step = part.result.step(0);
  part.result.for_runs(
      0, row * part.width, rows * part.width, [&](int64_t offset, int64_t start, int64_t m) {
        loops.store[static_cast<int>(type)](run.results[0] + offset * size_of(type), step,
                                            leaf_values + start * size_of(class_of(type)), m);
      });
}

void Reduce::run(const KernelRun& run, const Part& part) const {
  const int64_t row = leaves * length * part.width, all_leaves = part.rows * leaves;
  auto scratch_of = [&](int thread) {
    return run.scratch.data() + thread * scratch_bytes_per_thread;
  };
  // Too few rows to keep the threads busy: they share the leaves.
  if (part.rows < run.team.size && leaves > 1 &&
      bytes_of(all_leaves * part.width) <= leaves_bytes) {
    const int64_t share = std::max<int64_t>(1, task_elements / (length * part.width));
    std::byte* all = scratch_of(0) + leaves_at();
    run.team.run((all_leaves + share - 1) / share, [&](int64_t task, int thread) {
      sum_leaves(run, part, task * share, std::min(all_leaves, (task + 1) * share),
                 all + bytes_of(task * share * part.width), scratch_of(thread));
    });
    finish(run, part, 0, part.rows, all);
    return;
  }
  const int64_t share = std::max<int64_t>(1, task_elements / row);
  const int64_t batch = std::max<int64_t>(1, batch_bytes / bytes_of(leaves * part.width));
  run.team.run((part.rows + share - 1) / share, [&](int64_t task, int thread) {
    std::byte* values = scratch_of(thread) + leaves_at();
    const int64_t end = std::min(part.rows, (task + 1) * share);
    for (int64_t r = task * share; r < end; r += batch) {
      const int64_t n = std::min(batch, end - r);
      sum_leaves(run, part, r * leaves, (r + n) * leaves, values, scratch_of(thread));
      finish(run, part, r, n, values);
    }
  });
}

Folding folding_of(const KernelCall& call) {
  const std::string name = call.attrs.get_or<std::string>("reduction", "sum");
  if (name != "sum" && name != "max" && name != "min")
    kernel_bug("reduce: unknown reduction");
  return name == "sum" ? Folding::sum : name == "max" ? Folding::max : Folding::min;
}

}  // namespace

Kernel prepare_reduce(const KernelCall& call, Isa isa) {
  const int reg = call.body.results.empty() ? 0 : call.body.results[0];
  const DType type = call.results[0].dtype;
  const DType value = TileBody::dtype_of(call.inputs, call.body.steps, reg);
  const Class held = std::max(class_of(value), class_of(type));
  const Shape shape = shape_of(call);
  std::vector<int64_t> folded;
  for (const Loop& l : shape.folded)
    folded.push_back(l.extent);
  int64_t length = product(shape.leaf);
  if (length <= chains) {  // one element a chain: their tree is one more to fold
    folded.push_back(length);
    length = 1;
  }
  const int64_t leaves = product(shape.folded) * product(shape.leaf) / length;
  const Loops& loops = loops_of(isa);
  auto reduce = std::make_shared<const Reduce>(Reduce{
      loops, loops.fold[static_cast<int>(folding_of(call))][static_cast<int>(held)], held,
      TileBody(call.inputs, call.body.steps, {{reg, plain_dtype[static_cast<int>(held)]}}, isa),
      type, folded, leaves, length,
      parts_of(shape, std::clamp<int64_t>(leaves_bytes / 8 / leaves, 1, widest))});
  if (reduce->leaves_at() + std::max(leaves_bytes, 8 * leaves) > scratch_bytes_per_thread)
    kernel_bug("reduce: too many blocks or steps");
  return [reduce](const KernelRun& run) {
    for (const Part& part : reduce->parts)
      reduce->run(run, part);
  };
}

}  // namespace mtf
