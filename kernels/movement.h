// What the kernels that move, order and draw elements share: lookups of dims in a View, walks over
// strided index spaces, dispatch on the element type, and cutting work among the threads of a rank.
// All strides and offsets are in elements.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>

#include "kernel.h"

namespace mtf {

inline constexpr int max_dims = 24;  // of one index space, after factoring

// Prints and aborts: the planner made a call that the kernel table does not describe.
[[noreturn]] void misused(const KernelCall&, const char* why);

inline void require(bool condition, const KernelCall& call, const char* why) {
  if (!condition)
    misused(call, why);
}

DimId dim_attr(const KernelCall&, std::string_view key);
std::vector<DimId> dims_attr(const KernelCall&, std::string_view key);

// ---- dims of a View ----

// One dim as a View has it. A dim that the View lacks is one index that moves no address.
struct Side {
  int64_t size = 1, origin = 0, whole = 1, stride = 0;
};
Side side_of(const View&, DimId);
bool has(const View&, DimId);

// ---- walks ----

// N addresses that move together over one index space, row-major. Dims of size 1 vanish, and a dim
// that continues the one before it in all N addresses is merged with it.
template <int N>
class Walk {
 public:
  struct Dim {
    int64_t size = 1;
    std::array<int64_t, N> strides{};
  };

  std::array<int64_t, N> offset{};

  void add(int64_t size, std::array<int64_t, N> strides) {
    if (size == 1)
      return;
    count_ *= size;
    if (rank_ > 0 && continues(dims_[rank_ - 1], size, strides)) {
      dims_[rank_ - 1] = {dims_[rank_ - 1].size * size, strides};
      return;
    }
    if (rank_ == max_dims)
      std::abort();
    dims_[rank_++] = {size, strides};
  }

  Dim pop_inner() {  // the innermost dim, which is then walked by the caller
    if (rank_ == 0)
      return {};
    count_ = 1;
    for (int i = 0; i + 1 < rank_; ++i)
      count_ *= dims_[i].size;
    return dims_[--rank_];
  }

  int64_t count() const { return count_; }
  std::span<const Dim> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }

  void seek(int64_t flat) {
    offset = {};
    for (int i = rank_ - 1; i >= 0; --i) {
      index_[i] = flat % dims_[i].size;
      flat /= dims_[i].size;
      move(i, index_[i]);
    }
  }

  void next() {
    for (int i = rank_ - 1; i >= 0; --i) {
      move(i, 1);
      if (++index_[i] < dims_[i].size)
        return;
      move(i, -dims_[i].size);
      index_[i] = 0;
    }
  }

 private:
  static bool continues(const Dim& outer, int64_t size, const std::array<int64_t, N>& strides) {
    for (int n = 0; n < N; ++n)
      if (outer.strides[n] != size * strides[n])
        return false;
    return true;
  }
  void move(int i, int64_t steps) {
    for (int n = 0; n < N; ++n)
      offset[n] += steps * dims_[i].strides[n];
  }

  std::array<Dim, max_dims> dims_;
  std::array<int64_t, max_dims> index_{};
  int rank_ = 0;
  int64_t count_ = 1;
};

// An index space cut into pieces: up to `limit` neighbours along its innermost dim, with two
// addresses each.
class Pieces {
 public:
  struct Piece {
    int64_t a, b;  // offsets of the first element
    int64_t size;
  };

  Pieces() = default;
  Pieces(Walk<2> space, int64_t limit)
      : inner_(space.pop_inner()),
        outer_(space),
        limit_(limit),
        per_row_((inner_.size + limit - 1) / limit) {}

  int64_t count() const { return outer_.count() * per_row_; }
  int64_t step_a() const { return inner_.strides[0]; }
  int64_t step_b() const { return inner_.strides[1]; }

  // Calls f on pieces [first, last).
  template <class F>
  void each(int64_t first, int64_t last, const F& f) const {
    if (first >= last)
      return;
    Walk<2> walk = outer_;
    walk.seek(first / per_row_);
    int64_t begin = first % per_row_ * limit_;
    for (int64_t i = first; i < last; ++i) {
      f(Piece{walk.offset[0] + begin * step_a(), walk.offset[1] + begin * step_b(),
              std::min(limit_, inner_.size - begin)});
      begin += limit_;
      if (begin < inner_.size)
        continue;
      begin = 0;
      walk.next();
    }
  }

 private:
  Walk<2>::Dim inner_;
  Walk<2> outer_;
  int64_t limit_ = 1, per_row_ = 1;
};

// ---- threads ----

// Calls f(first, last) on ranges that cover [0, count) once, of at least `grain` items each: small
// work stays on the calling thread. Allocates nothing.
template <class F>
void parallel_ranges(Team& team, int64_t count, int64_t grain, const F& f) {
  const int64_t tasks = std::min<int64_t>(count / std::max<int64_t>(grain, 1), 8 * team.size);
  if (tasks <= 1 || team.size == 1) {
    if (count > 0)
      f(int64_t{0}, count);
    return;
  }
  const auto task = [&](int64_t t, int) { f(count * t / tasks, count * (t + 1) / tasks); };
  team.run(tasks, std::cref(task));
}

// ---- element types ----

struct Bf16 {
  uint16_t bits = 0;
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

inline Bf16 to_bf16(float x) {  // to nearest, ties to even
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (x != x)
    return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

// f(T{}) for the numeric type T of `type`.
template <class F>
Kernel for_type(const KernelCall& call, DType type, const F& f) {
  switch (type) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::bf16:
      return f(Bf16{});
    case DType::i32:
      return f(int32_t{});
    default:
      misused(call, "dtype");
  }
}

}  // namespace mtf
