// scatter_add, the gradient of gather: row `id` of the result is the sum of dy over the positions
// whose id it is, in the order that the graph fixes whatever the number of threads: the sum is cut
// into blocks, with a chain of additions in each and a binary tree over them. Positions are first
// sorted by id (counting sort in scratch), then every thread sums rows of its own.
#include "movement.h"
#include "table.h"

namespace mtf {
namespace {

constexpr int64_t longest_chain = 256;
constexpr int64_t piece_columns = 1024;

// The sum of one call, as walks. Positions of one group and one block lie along `positions`.
struct Plan {
  Walk<3> groups;     // batch and kept block dims: offsets in ids, dy, result
  Walk<3> blocks;     // folded blocks in index order: number in the padded tree, ids, dy
  Walk<2> positions;  // of one block in index order: ids, dy
  int64_t padded_blocks = 1;
  Pieces columns;  // dims of dy alone: dy, result
  Side to;         // the result's dim that ids index
};

struct Position {
  int64_t key;  // padded block number * positions of a block + position in the block
  int64_t dy;   // offset
};

// Calls f(key, offset in ids, offset in dy) for every position of a group, keys ascending.
template <class F>
void each_position(const Plan& plan, const F& f) {
  Walk<3> block = plan.blocks;
  Walk<2> at = plan.positions;
  const int64_t length = at.count();
  for (int64_t b = 0; b < block.count(); ++b, block.next())
    for (int64_t p = 0; p < length; ++p, at.next())  // ends where it began
      f(block.offset[0] * length + p, block.offset[1] + at.offset[0],
        block.offset[2] + at.offset[1]);
}

// The positions of one id, from the sorted list.
struct Sorted {
  const Position *at, *end;
  bool any_before(int64_t key) const { return at != end && at->key < key; }
  const Position* next(int64_t key) { return any_before(key) ? at++ : nullptr; }
};

// The same found by a scan of all ids, for an id with more positions than scratch holds.
class Scan {
 public:
  Scan(const Plan& plan, const int32_t* ids, int64_t id)
      : block_(plan.blocks), position_(plan.positions), ids_(ids), id_(id) {
    find();
  }
  bool any_before(int64_t key) const { return block_index_ < block_.count() && here() < key; }
  const Position* next(int64_t key) {
    if (!any_before(key))
      return nullptr;
    found_ = {here(), block_.offset[2] + position_.offset[1]};
    step();
    find();
    return &found_;
  }

 private:
  int64_t here() const { return block_.offset[0] * position_.count() + position_index_; }
  void step() {
    position_.next();
    if (++position_index_ < position_.count())
      return;
    position_index_ = 0;
    ++block_index_;
    block_.next();
  }
  void find() {
    while (block_index_ < block_.count() && ids_[block_.offset[1] + position_.offset[0]] != id_)
      step();
  }

  Walk<3> block_;
  Walk<2> position_;
  int64_t block_index_ = 0, position_index_ = 0;
  const int32_t* ids_;
  int64_t id_;
  Position found_{};
};

// A node of the tree over one group's positions: `blocks` (a power of two) blocks of `length`
// positions each, from `key` on; blocks that are padding have no position.
struct TreeNode {
  int64_t key, blocks, length;
  int64_t end() const { return key + blocks * length; }
  bool is_chain() const { return blocks == 1 && length <= longest_chain; }
  TreeNode left() const {
    return blocks > 1 ? TreeNode{key, blocks / 2, length} : TreeNode{key, 1, (length + 1) / 2};
  }
  TreeNode right() const {
    return blocks > 1 ? TreeNode{left().end(), blocks / 2, length}
                      : TreeNode{left().end(), 1, length / 2};
  }
};

// One piece of columns of dy, at most piece_columns of them.
template <class In>
struct Columns {
  const In* dy;
  int64_t count, stride;

  template <class Acc>
  void add_to(Acc* out, const Position& at) const {
    const In* row = dy + at.dy;
    if (stride == 1)  // a loop that the compiler vectorises
      for (int64_t c = 0; c < count; ++c)
        out[c] += static_cast<Acc>(row[c]);
    else
      for (int64_t c = 0; c < count; ++c)
        out[c] += static_cast<Acc>(row[c * stride]);
  }
};

// out = the sum over the node; false, and out untouched in meaning, if no position is in it (its
// value is then -0.0, which adds nothing). A chain starts from +0.0.
template <class In, class Acc, class Source>
bool fold(Source& source, const TreeNode& node, const Columns<In>& columns, Acc* out) {
  if (!source.any_before(node.end()))
    return false;
  if (node.is_chain()) {
    std::fill_n(out, columns.count, Acc{0});
    while (const Position* p = source.next(node.end()))
      columns.add_to(out, *p);
    return true;
  }
  const bool has_left = fold(source, node.left(), columns, out);
  if (!has_left)
    return fold(source, node.right(), columns, out);
  Acc other[piece_columns];
  if (fold(source, node.right(), columns, other))
    for (int64_t c = 0; c < columns.count; ++c)
      out[c] += other[c];
  return true;
}

template <class In, class Acc>
class ScatterAdd {
 public:
  ScatterAdd(const Plan& plan, const KernelRun& run)
      : plan_(plan),
        run_(run),
        ids_(reinterpret_cast<const int32_t*>(run.inputs[0])),
        dy_(reinterpret_cast<const In*>(run.inputs[1])),
        y_(reinterpret_cast<Acc*>(run.results[0])),
        starts_(reinterpret_cast<uint32_t*>(run.scratch.data())),
        positions_(reinterpret_cast<Position*>(run.scratch.data() + run.scratch.size() / 2)),
        most_ids_(int64_t(run.scratch.size() / 2 / sizeof(uint32_t)) - 2),
        most_positions_(int64_t(run.scratch.size() / 2 / sizeof(Position))) {}

  void group(const Walk<3>& at) {
    const int32_t* ids = ids_ + at.offset[0];
    const In* dy = dy_ + at.offset[1];
    Acc* y = y_ + at.offset[2];
    for (int64_t first = 0; first < plan_.to.size;) {
      const int64_t last = sort(ids, first);
      if (last > first)
        rows(first, last, dy, y, [&](int64_t id) {
          return Sorted{positions_ + starts_[id - first], positions_ + starts_[id - first + 1]};
        });
      else
        rows(first, first + 1, dy, y,
             [&](int64_t id) { return Scan(plan_, ids, plan_.to.origin + id); });
      first = std::max(last, first + 1);
    }
  }

 private:
  // Sorts the positions of local ids [first, last) by id and returns `last`, the farthest that
  // scratch holds. Those of id i are then positions_[starts_[i - first], starts_[i - first + 1]).
  int64_t sort(const int32_t* ids, int64_t first) {
    int64_t count = std::min(plan_.to.size - first, most_ids_);
    const int64_t base = plan_.to.origin + first;
    std::fill_n(starts_, count + 2, 0u);
    each_position(plan_, [&](int64_t, int64_t at, int64_t) {
      const int64_t id = ids[at] - base;
      if (id >= 0 && id < count)
        ++starts_[id + 2];
    });
    int64_t total = 0;  // positions of ids before i
    for (int64_t i = 0; i < count; ++i) {
      total += starts_[i + 2];
      if (total > most_positions_)
        count = i;
      else
        starts_[i + 2] = static_cast<uint32_t>(total);
    }
    each_position(plan_, [&](int64_t key, int64_t at, int64_t dy) {
      const int64_t id = ids[at] - base;
      if (id >= 0 && id < count)
        positions_[starts_[id + 1]++] = {key, dy};
    });
    return first + count;
  }

  // Writes result rows [first, last); source(id) yields the positions of a local id.
  template <class SourceOf>
  void rows(int64_t first, int64_t last, const In* dy, Acc* y, const SourceOf& source_of) {
    const TreeNode root{0, plan_.padded_blocks, plan_.positions.count()};
    const int64_t ids = last - first, step = plan_.columns.step_b();
    const auto row = [&](int64_t id, const Pieces::Piece& piece) {
      auto source = source_of(id);
      Acc gathered[piece_columns];
      Acc* to = y + piece.b + id * plan_.to.stride;
      Acc* sum = step == 1 ? to : gathered;
      const Columns<In> columns{dy + piece.a, piece.size, plan_.columns.step_a()};
      if (!fold(source, root, columns, sum))
        std::fill_n(sum, piece.size, Acc{-0.0});
      if (step != 1)
        for (int64_t c = 0; c < piece.size; ++c)
          to[c * step] = sum[c];
    };
    // Items are (piece of columns, id), so that an id with many positions is shared too.
    parallel_ranges(run_.team, ids * plan_.columns.count(), 32, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t piece = i / ids, stop = std::min(end, (piece + 1) * ids);
        plan_.columns.each(piece, piece + 1, [&](const Pieces::Piece& p) {
          for (; i < stop; ++i)
            row(first + i - piece * ids, p);
        });
      }
    });
  }

  const Plan& plan_;
  const KernelRun& run_;
  const int32_t* ids_;
  const In* dy_;
  Acc* y_;
  uint32_t* starts_;
  Position* positions_;
  int64_t most_ids_, most_positions_;
};

template <class In, class Acc>
Kernel kernel_of(const Plan& plan) {
  return [plan](const KernelRun& run) {
    ScatterAdd<In, Acc> scatter(plan, run);
    Walk<3> at = plan.groups;
    for (int64_t i = 0; i < at.count(); ++i, at.next())
      scatter.group(at);
  };
}

// Cuts the summed dims into blocks, those folded here and those kept in the result.
void plan_sum(const KernelCall& call, Plan& plan) {
  const View &ids = call.inputs[0], &dy = call.inputs[1], &y = call.results[0];
  std::vector<Walk<3>::Dim> folded;
  for (const Reduced& r : call.terms[0].reduced) {
    const Side i = side_of(ids, r.dim), g = side_of(dy, r.dim);
    const int64_t size = has(ids, r.dim) ? i.size : g.size, length = size / r.blocks;
    require(length * r.blocks == size, call, "blocks do not divide a summed dim");
    plan.positions.add(length, {i.stride, g.stride});
    if (r.kept.index >= 0)
      plan.groups.add(r.blocks, {length * i.stride, length * g.stride, side_of(y, r.kept).stride});
    else
      folded.push_back({r.blocks, {0, length * i.stride, length * g.stride}});
  }
  for (size_t i = folded.size(); i-- > 0;) {
    folded[i].strides[0] = plan.padded_blocks;
    plan.padded_blocks *= int64_t(std::bit_ceil(uint64_t(folded[i].size)));
  }
  for (const Walk<3>::Dim& d : folded)
    plan.blocks.add(d.size, d.strides);
}

}  // namespace

Kernel prepare_scatter_add(const KernelCall& call) {
  const View &ids = call.inputs[0], &dy = call.inputs[1], &y = call.results[0];
  const DimId to = dim_attr(call, "to");
  require(call.terms.size() == 1 && has(y, to) && ids.dtype == DType::i32, call, "operands");
  Plan plan;
  plan.to = side_of(y, to);
  plan_sum(call, plan);
  const auto& reduced = call.terms[0].reduced;
  Walk<2> columns;
  for (DimId d : y.dims) {
    const Side i = side_of(ids, d), g = side_of(dy, d), r = side_of(y, d);
    const bool kept = std::any_of(reduced.begin(), reduced.end(),
                                  [&](const Reduced& sum) { return sum.kept == d; });
    if (d == to || kept)
      continue;
    if (has(ids, d))
      plan.groups.add(r.size, {i.stride, g.stride, r.stride});
    else
      columns.add(r.size, {g.stride, r.stride});
  }
  plan.columns = Pieces(columns, piece_columns);
  if (dy.dtype == DType::f32 && y.dtype == DType::f32)
    return kernel_of<float, float>(plan);
  if (dy.dtype == DType::bf16 && y.dtype == DType::f32)
    return kernel_of<Bf16, float>(plan);
  if (dy.dtype == DType::f64 && y.dtype == DType::f64)
    return kernel_of<double, double>(plan);
  misused(call, "dtypes");
}

}  // namespace mtf
