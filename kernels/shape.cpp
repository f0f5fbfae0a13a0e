// The kernels that only move elements: copy (reshape, transposition), slice, pad, concat, shift and
// write_slice; and iota, which writes the index itself. All but copy cut one dim of the result into
// segments, each a run of rows of one input, or zeros. Rows are named by global index, so a shard
// yields its part of the whole result.
#include "strided.h"
#include "table.h"

namespace mtf {
namespace {

alignas(8) constexpr std::byte zero_element[8] = {};

// Rows [to, to + count) of the result are rows [from, ...) of an input (-1: zeros); local indices.
struct Segment {
  int input = -1;
  int64_t from = 0, to = 0, count = 0;
};

// The part of global rows [to, to + count) of `y`, taken from global rows [from, ...) of `x`, that
// is local on both sides.
Segment local_part(int input, const Side& x, const Side& y, int64_t from, int64_t to,
                   int64_t count) {
  const int64_t ahead = to - from;
  const int64_t first = std::max({to, y.origin, x.origin + ahead});
  const int64_t last = std::min({to + count, y.origin + y.size, x.origin + x.size + ahead});
  return {input, first - ahead - x.origin, first - y.origin, std::max<int64_t>(last - first, 0)};
}

struct Move {
  int input;
  int64_t from, to;  // bytes
  StridedCopy copy;
};

// All dims of `y`, `rows` of them along `y_dim`, which is called `x_dim` in x (null: zeros).
Extents extents_of(const View* x, const View& y, DimId x_dim, DimId y_dim, int64_t rows) {
  Extents extents;
  for (DimId d : y.dims) {
    const int64_t from = x ? side_of(*x, d == y_dim ? x_dim : d).stride : 0;
    extents.add({d == y_dim ? rows : side_of(y, d).size, from, side_of(y, d).stride});
  }
  return extents;
}

Move move_of(const KernelCall& call, const Segment& s, DimId x_dim, DimId y_dim) {
  const View& y = call.results[0];
  const View* x = s.input < 0 ? nullptr : &call.inputs[s.input];
  const int64_t bytes = size_of(y.dtype);
  require(!x || x->dtype == y.dtype, call, "dtype");
  return {s.input, x ? s.from * side_of(*x, x_dim).stride * bytes : 0,
          s.to * side_of(y, y_dim).stride * bytes,
          StridedCopy(bytes, extents_of(x, y, x_dim, y_dim, s.count))};
}

// Moves that make the segments, and zeros in all other rows of the result.
std::vector<Move> moves_of(const KernelCall& call, std::vector<Segment> segments,
                           const std::vector<DimId>& x_dims, DimId y_dim) {
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.to < b.to; });
  std::vector<Move> moves;
  int64_t row = 0;
  const auto zeros_until = [&](int64_t end) {
    if (row < end)
      moves.push_back(move_of(call, {-1, 0, row, end - row}, {}, y_dim));
  };
  for (const Segment& s : segments) {
    if (s.count == 0)
      continue;
    zeros_until(s.to);
    moves.push_back(move_of(call, s, x_dims[s.input], y_dim));
    row = s.to + s.count;
  }
  zeros_until(side_of(call.results[0], y_dim).size);
  return moves;
}

Kernel kernel_of(std::vector<Move> moves) {
  return [moves = std::move(moves)](const KernelRun& run) {
    for (const Move& m : moves) {
      const std::byte* from = m.input < 0 ? zero_element : run.inputs[m.input];
      m.copy.run(from + m.from, run.results[0] + m.to, run.team);
    }
  };
}

int32_t scalar(const KernelRun& run, int input) {
  return *reinterpret_cast<const int32_t*>(run.inputs[input]);
}

// ---- copy ----

// Both sides of a flattened tensor cut into common factors, innermost first; false if they have no
// common refinement ([6, 4] and [4, 6] stored transposed).
bool refine(const Walk<1>& x, const Walk<1>& y, Extents& out) {
  auto a = x.dims().rbegin(), b = y.dims().rbegin();
  int64_t a_done = 1, b_done = 1;  // factors already taken of *a and *b
  while (a != x.dims().rend() && b != y.dims().rend()) {
    const int64_t a_rest = a->size / a_done, b_rest = b->size / b_done;
    const int64_t size = std::min(a_rest, b_rest);
    if (size == 0 || a_rest % size != 0 || b_rest % size != 0 || out.rank == max_dims)
      return false;
    out.add({size, a->strides[0] * a_done, b->strides[0] * b_done});
    a_done = size == a_rest ? (++a, 1) : a_done * size;
    b_done = size == b_rest ? (++b, 1) : b_done * size;
  }
  return true;
}

template <class T>
void copy_flat(Walk<1> x, Walk<1> y, const KernelRun& run) {
  const T* from = reinterpret_cast<const T*>(run.inputs[0]);
  T* to = reinterpret_cast<T*>(run.results[0]);
  parallel_ranges(run.team, x.count(), 1 << 15, [&](int64_t first, int64_t last) {
    Walk<1> a = x, b = y;
    a.seek(first);
    b.seek(first);
    for (int64_t i = first; i < last; ++i, a.next(), b.next())
      to[b.offset[0]] = from[a.offset[0]];
  });
}

Walk<1> flattened(const KernelCall& call, const View& view, const std::vector<DimId>& order) {
  Walk<1> walk;
  require(order.size() == view.dims.size(), call, "dims listed are not those of the tensor");
  for (DimId d : order) {
    require(has(view, d), call, "dims listed are not those of the tensor");
    walk.add(side_of(view, d).size, {side_of(view, d).stride});
  }
  return walk;
}

// ---- iota ----

template <class T>
Kernel iota_kernel(const KernelCall& call) {
  const View& y = call.results[0];
  const DimId over = dim_attr(call, "over");
  Walk<2> space;  // result, index
  for (DimId d : y.dims)
    space.add(side_of(y, d).size, {side_of(y, d).stride, int64_t{d == over}});
  const Pieces pieces(space, 1 << 14);
  return [pieces, origin = side_of(y, over).origin](const KernelRun& run) {
    T* to = reinterpret_cast<T*>(run.results[0]);
    parallel_ranges(run.team, pieces.count(), 4, [&](int64_t first, int64_t last) {
      pieces.each(first, last, [&](const Pieces::Piece& p) {
        for (int64_t i = 0; i < p.size; ++i)
          to[p.a + i * pieces.step_a()] = static_cast<T>(origin + p.b + i * pieces.step_b());
      });
    });
  };
}

}  // namespace

Kernel prepare_copy(const KernelCall& call) {
  const Walk<1> x = flattened(call, call.inputs[0], dims_attr(call, "from"));
  const Walk<1> y = flattened(call, call.results[0], dims_attr(call, "to"));
  const int64_t bytes = size_of(call.inputs[0].dtype);
  require(x.count() == y.count() && call.inputs[0].dtype == call.results[0].dtype, call,
          "sizes or dtypes differ");
  Extents extents;
  if (refine(x, y, extents))
    return kernel_of({{0, 0, 0, StridedCopy(bytes, extents)}});
  switch (bytes) {
    case 1:
      return [=](const KernelRun& run) { copy_flat<uint8_t>(x, y, run); };
    case 2:
      return [=](const KernelRun& run) { copy_flat<uint16_t>(x, y, run); };
    case 4:
      return [=](const KernelRun& run) { copy_flat<uint32_t>(x, y, run); };
    default:
      return [=](const KernelRun& run) { copy_flat<uint64_t>(x, y, run); };
  }
}

Kernel prepare_slice(const KernelCall& call) {
  const DimId over = dim_attr(call, "over"), to = dim_attr(call, "to");
  const Side x = side_of(call.inputs[0], over), y = side_of(call.results[0], to);
  const int64_t start = call.attrs.get_or<int64_t>("start", 0), last_start = x.whole - y.whole;
  const bool moves = call.inputs.size() > 1;
  const Segment rows = local_part(0, x, y, moves ? 0 : start, 0, y.whole);
  if (!moves)
    return kernel_of(moves_of(call, {rows}, {over}, to));
  require(x.size >= x.whole && last_start >= 0, call, "a slice at run time needs the whole dim");
  const Move move = move_of(call, rows, over, to);
  const int64_t row_bytes = x.stride * size_of(call.inputs[0].dtype);
  return [=](const KernelRun& run) {
    const int64_t first = std::clamp<int64_t>(start + scalar(run, 1), 0, last_start);
    move.copy.run(run.inputs[0] + move.from + first * row_bytes, run.results[0], run.team);
  };
}

Kernel prepare_pad(const KernelCall& call) {
  const DimId over = dim_attr(call, "over"), to = dim_attr(call, "to");
  const Side x = side_of(call.inputs[0], over), y = side_of(call.results[0], to);
  const int64_t before = call.attrs.get_or<int64_t>("before", 0);
  return kernel_of(moves_of(call, {local_part(0, x, y, 0, before, x.whole)}, {over}, to));
}

Kernel prepare_concat(const KernelCall& call) {
  const std::vector<DimId> over = dims_attr(call, "over");
  const DimId to = dim_attr(call, "to");
  require(over.size() == call.inputs.size(), call, "one joined dim for each operand");
  std::vector<Segment> segments;
  int64_t row = 0;
  for (size_t i = 0; i < over.size(); ++i) {
    const Side x = side_of(call.inputs[i], over[i]);
    segments.push_back(local_part(int(i), x, side_of(call.results[0], to), 0, row, x.whole));
    row += x.whole;
  }
  return kernel_of(moves_of(call, segments, over, to));
}

Kernel prepare_shift(const KernelCall& call) {
  const DimId over = dim_attr(call, "over");
  const Side x = side_of(call.inputs[0], over), y = side_of(call.results[0], over);
  int64_t offset = call.attrs.get_or<int64_t>("offset", 0);
  std::vector<Segment> segments;
  if (call.attrs.get_or<bool>("wrap", false) && x.whole > 0) {
    offset = (offset % x.whole + x.whole) % x.whole;
    segments.push_back(local_part(0, x, y, x.whole - offset, 0, offset));
  }
  segments.push_back(local_part(0, x, y, 0, offset, x.whole));
  return kernel_of(moves_of(call, segments, {over}, over));
}

Kernel prepare_write_slice(const KernelCall& call) {
  const DimId over = dim_attr(call, "over"), from = dim_attr(call, "from");
  const View &old = call.inputs[0], &update = call.inputs[1], &y = call.results[0];
  const Side x_side = side_of(update, from), y_side = side_of(y, over);
  require(has(y, over), call, "no dim to write along");
  require(old.dtype == y.dtype && update.dtype == y.dtype, call, "dtype");
  const int64_t bytes = size_of(y.dtype);
  const StridedCopy keep(bytes, extents_of(&old, y, over, over, y_side.size));
  const Extents row = extents_of(&update, y, from, over, 1);
  const auto over_at = std::find(y.dims.begin(), y.dims.end(), over) - y.dims.begin();
  const bool counted = call.inputs.size() > 3;
  return [=](const KernelRun& run) {
    if (run.inputs[0] != run.results[0])
      keep.run(run.inputs[0], run.results[0], run.team);
    const int64_t count = counted ? scalar(run, 3) : x_side.whole;
    const Segment s = local_part(1, x_side, y_side, 0, scalar(run, 2),
                                 std::clamp<int64_t>(count, 0, x_side.whole));
    Extents rows = row;
    rows.at[over_at].size = s.count;
    StridedCopy(bytes, rows)
        .run(run.inputs[1] + s.from * x_side.stride * bytes,
             run.results[0] + s.to * y_side.stride * bytes, run.team);
  };
}

Kernel prepare_iota(const KernelCall& call) {
  switch (call.results[0].dtype) {
    case DType::i32:
      return iota_kernel<int32_t>(call);
    case DType::f32:
      return iota_kernel<float>(call);
    default:
      misused(call, "dtype");
  }
}

}  // namespace mtf
