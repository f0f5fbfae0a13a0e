// The kernels that compare or accumulate along one dim: argmax and argmin, top_k, sort, cumsum.
// Values are compared by integer keys that order them as the graph says: NaN above all, -0 < +0.
// Rows are independent, so threads never change a result. Sorting happens inside the result, so
// that it needs no scratch and rows of any length do.
#include <cmath>
#include <iterator>
#include <limits>

#include "movement.h"
#include "table.h"

namespace mtf {
namespace {

constexpr int64_t lanes = 64;  // neighbouring rows worked on together where `over` is not innermost

double wide(double x) {
  return x;
}
double wide(Bf16 x) {
  return static_cast<float>(x);
}

// Greater keys for greater values (or smaller ones: `smallest`); exact for every type.
template <bool smallest = false, class T>
int64_t key_of(T value) {
  const double x = wide(value);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  if (std::isnan(x))
    return most;
  const int64_t bits = std::bit_cast<int64_t>(x), key = bits ^ (bits >> 63 & most);
  return smallest ? ~key : key;
}

// The rows of a call: `over` in operand and result, and the other dims as pieces of neighbouring
// rows (offsets in operand, result).
struct Rows {
  Side x, y;
  Pieces pieces;
  int64_t grain = 1;
};

Rows rows_of(const KernelCall& call, DimId x_over, DimId y_over, int64_t limit) {
  const View &x = call.inputs[0], &y = call.results[0];
  require(has(x, x_over), call, "the operand lacks the dim");
  Rows rows{side_of(x, x_over), side_of(y, y_over), {}};
  Walk<2> space;
  for (DimId d : y.dims)
    if (d != y_over)
      space.add(side_of(y, d).size, {side_of(x, d).stride, side_of(y, d).stride});
  if (rows.x.stride == 1)
    limit = 1;
  rows.pieces = Pieces(space, limit);
  rows.grain = (int64_t{1} << 15) / (limit * rows.x.size + 1);
  return rows;
}

// Calls f(x, y, piece) for all pieces of rows; x and y point at the first element of the piece.
template <class In, class Out, class F>
void each_row(const Rows& rows, const KernelRun& run, const F& f) {
  const In* x = reinterpret_cast<const In*>(run.inputs[0]);
  Out* y = reinterpret_cast<Out*>(run.results[0]);
  parallel_ranges(run.team, rows.pieces.count(), rows.grain, [&](int64_t first, int64_t last) {
    rows.pieces.each(first, last, [&](const Pieces::Piece& p) { f(x + p.a, y + p.b, p.size); });
  });
}

template <class T, bool smallest>
void arg_reduce(const Rows& rows, const KernelRun& run) {
  const int64_t x_step = rows.pieces.step_a(), y_step = rows.pieces.step_b();
  each_row<T, int32_t>(rows, run, [&](const T* x, int32_t* y, int64_t count) {
    int64_t best[lanes];
    int64_t index[lanes] = {};
    for (int64_t c = 0; c < count; ++c)
      best[c] = key_of<smallest>(x[c * x_step]);
    for (int64_t i = 1; i < rows.x.size; ++i)
      for (int64_t c = 0; c < count; ++c) {
        const int64_t key = key_of<smallest>(x[i * rows.x.stride + c * x_step]);
        index[c] = key > best[c] ? i : index[c];
        best[c] = std::max(best[c], key);
      }
    for (int64_t c = 0; c < count; ++c)
      y[c * y_step] = static_cast<int32_t>(rows.x.origin + index[c]);
  });
}

// Elements a stride apart, as the algorithms of the standard library want them.
template <class T>
class Strided {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = int64_t;
  using pointer = T*;
  using reference = T&;

  Strided(T* at, int64_t stride) : at_(at), stride_(stride) {}
  T& operator*() const { return *at_; }
  T& operator[](int64_t n) const { return at_[n * stride_]; }
  Strided& operator+=(int64_t n) {
    at_ += n * stride_;
    return *this;
  }
  Strided& operator-=(int64_t n) { return *this += -n; }
  Strided& operator++() { return *this += 1; }
  Strided& operator--() { return *this += -1; }
  Strided operator++(int) { return std::exchange(*this, *this + 1); }
  Strided operator--(int) { return std::exchange(*this, *this - 1); }
  friend Strided operator+(Strided s, int64_t n) { return s += n; }
  friend Strided operator-(Strided s, int64_t n) { return s -= n; }
  friend int64_t operator-(Strided a, Strided b) { return (a.at_ - b.at_) / a.stride_; }
  friend bool operator==(Strided a, Strided b) { return a.at_ == b.at_; }
  friend auto operator<=>(Strided a, Strided b) { return a.at_ <=> b.at_; }

 private:
  T* at_;
  int64_t stride_;
};

// The result row is a heap of indices whose top is the worst of the best so far.
template <class T>
void top_k(const Rows& rows, const KernelRun& run) {
  each_row<T, int32_t>(rows, run, [&](const T* x, int32_t* y, int64_t) {
    const auto key = [&](int32_t i) { return key_of(x[i * rows.x.stride]); };
    const auto better = [&](int32_t a, int32_t b) {
      const int64_t key_a = key(a), key_b = key(b);
      return key_a > key_b || (key_a == key_b && a < b);
    };
    const Strided<int32_t> best(y, rows.y.stride), end = best + rows.y.size;
    for (int32_t i = 0; i < rows.y.size; ++i)
      best[i] = i;
    std::make_heap(best, end, better);
    int64_t worst = key(best[0]);
    for (int32_t i = static_cast<int32_t>(rows.y.size); i < rows.x.size; ++i)
      if (key(i) > worst) {
        std::pop_heap(best, end, better);
        best[rows.y.size - 1] = i;
        std::push_heap(best, end, better);
        worst = key(best[0]);
      }
    std::sort_heap(best, end, better);
    for (int64_t i = 0; i < rows.y.size; ++i)
      best[i] += static_cast<int32_t>(rows.x.origin);
  });
}

template <class T>
void sort(const Rows& rows, bool descending, const KernelRun& run) {
  each_row<T, T>(rows, run, [&](const T* x, T* y, int64_t) {
    for (int64_t i = 0; i < rows.x.size; ++i)
      y[i * rows.y.stride] = x[i * rows.x.stride];
    const Strided<T> begin(y, rows.y.stride), end = begin + rows.y.size;
    if (descending)
      std::sort(begin, end, [](T a, T b) { return key_of(a) > key_of(b); });
    else
      std::sort(begin, end, [](T a, T b) { return key_of(a) < key_of(b); });
  });
}

// Running sums are f32, f64 for f64, and wrap around in i32.
template <class T>
struct Running {
  using Type = T;
};
template <>
struct Running<Bf16> {
  using Type = float;
};
template <>
struct Running<int32_t> {
  using Type = uint32_t;
};

template <class T, class Sum>
T rounded(Sum sum) {
  if constexpr (std::is_same_v<T, Bf16>)
    return to_bf16(sum);
  else
    return static_cast<T>(sum);
}

template <class T>
void cumsum(const Rows& rows, bool exclusive, const KernelRun& run) {
  using Sum = typename Running<T>::Type;
  const int64_t x_step = rows.pieces.step_a(), y_step = rows.pieces.step_b();
  each_row<T, T>(rows, run, [&](const T* x, T* y, int64_t count) {
    Sum sum[lanes] = {};
    for (int64_t i = 0; i < rows.x.size; ++i)
      for (int64_t c = 0; c < count; ++c) {
        const Sum before = sum[c];
        sum[c] += static_cast<Sum>(x[i * rows.x.stride + c * x_step]);
        y[i * rows.y.stride + c * y_step] = rounded<T>(exclusive ? before : sum[c]);
      }
  });
}

}  // namespace

Kernel prepare_arg_reduce(const KernelCall& call) {
  const DimId over = dim_attr(call, "over");
  const Rows rows = rows_of(call, over, {}, lanes);
  require(call.results[0].dtype == DType::i32, call, "indices are i32");
  const bool smallest = call.kernel == "argmin";
  return for_type(call, call.inputs[0].dtype, [&](auto zero) -> Kernel {
    using T = decltype(zero);
    if (smallest)
      return [rows](const KernelRun& run) { arg_reduce<T, true>(rows, run); };
    return [rows](const KernelRun& run) { arg_reduce<T, false>(rows, run); };
  });
}

Kernel prepare_top_k(const KernelCall& call) {
  const Rows rows = rows_of(call, dim_attr(call, "over"), dim_attr(call, "to"), 1);
  require(rows.y.size <= rows.x.size && call.results[0].dtype == DType::i32, call, "result");
  return for_type(call, call.inputs[0].dtype, [&](auto zero) -> Kernel {
    return [rows](const KernelRun& run) { top_k<decltype(zero)>(rows, run); };
  });
}

Kernel prepare_sort(const KernelCall& call) {
  const DimId over = dim_attr(call, "over");
  const Rows rows = rows_of(call, over, over, 1);
  require(call.inputs[0].dtype == call.results[0].dtype, call, "dtype");
  const bool descending = call.attrs.get_or<bool>("descending", false);
  return for_type(call, call.inputs[0].dtype, [&](auto zero) -> Kernel {
    return [=](const KernelRun& run) { sort<decltype(zero)>(rows, descending, run); };
  });
}

Kernel prepare_cumsum(const KernelCall& call) {
  const DimId over = dim_attr(call, "over");
  const Rows rows = rows_of(call, over, over, lanes);
  require(call.inputs[0].dtype == call.results[0].dtype, call, "dtype");
  const bool exclusive = call.attrs.get_or<bool>("exclusive", false);
  return for_type(call, call.inputs[0].dtype, [&](auto zero) -> Kernel {
    return [=](const KernelRun& run) { cumsum<decltype(zero)>(rows, exclusive, run); };
  });
}

}  // namespace mtf
