// One loop for each element type and reduction, simple enough for the compiler to vectorise.
#include "runtime/collectives_combine.h"

#include <bit>
#include <concepts>
#include <limits>
#include <type_traits>

#include "base/check.h"

namespace mtf {
namespace {

struct Bf16 {
  uint16_t bits;
};

template <class T>
T widen(T x) {
  return x;
}
float widen(Bf16 x) {
  return std::bit_cast<float>(uint32_t{x.bits} << 16);
}

template <class T>
T narrow(T x, T) {
  return x;
}
Bf16 narrow(float x, Bf16) {  // to nearest, ties to even; a NaN stays one
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return {static_cast<uint16_t>((x != x ? bits | 0x400000 : rounded) >> 16)};
}

template <std::floating_point T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

struct Sum {
  template <std::floating_point T>
  static T apply(T a, T b) {
    return a + b;
  }
  static int32_t apply(int32_t a, int32_t b) {  // wraps
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
};

// Equal operands differ at most in the sign of zero, which "and" clears and "or" sets. If neither
// compares, one is NaN; all NaNs become the same one, as in the kernels.
struct Max {
  template <std::floating_point T>
  static T apply(T a, T b) {
    const T same = std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) & std::bit_cast<BitsOf<T>>(b));
    return a > b ? a : (a < b ? b : (a == b ? same : std::numeric_limits<T>::quiet_NaN()));
  }
  template <std::integral T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};

struct Min {
  template <std::floating_point T>
  static T apply(T a, T b) {
    const T same = std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) | std::bit_cast<BitsOf<T>>(b));
    return a < b ? a : (a > b ? b : (a == b ? same : std::numeric_limits<T>::quiet_NaN()));
  }
  template <std::integral T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};

template <class Op, class T>
void loop(Side side, std::span<std::byte> into, std::span<const std::byte> other) {
  T* __restrict x = reinterpret_cast<T*>(into.data());
  const T* __restrict y = reinterpret_cast<const T*>(other.data());
  const size_t n = into.size() / sizeof(T);
  if (side == Side::left)
    for (size_t i = 0; i < n; ++i)
      x[i] = narrow(Op::apply(widen(x[i]), widen(y[i])), T{});
  else
    for (size_t i = 0; i < n; ++i)
      x[i] = narrow(Op::apply(widen(y[i]), widen(x[i])), T{});
}

template <class Op>
void by_type(DType dtype, Side side, std::span<std::byte> into, std::span<const std::byte> other) {
  switch (dtype) {
    case DType::f32:
      return loop<Op, float>(side, into, other);
    case DType::f64:
      return loop<Op, double>(side, into, other);
    case DType::bf16:
      return loop<Op, Bf16>(side, into, other);
    case DType::i32:
      return loop<Op, int32_t>(side, into, other);
    case DType::u8:
    case DType::boolean:
      if constexpr (std::is_same_v<Op, Sum>)
        CHECK(false, "bytes have no sum");
      else
        return loop<Op, uint8_t>(side, into, other);
  }
}

}  // namespace

void combine(Reduction reduction, DType dtype, Side side_of_into, std::span<std::byte> into,
             std::span<const std::byte> other) {
  CHECK(into.size() == other.size());
  switch (reduction) {
    case Reduction::sum:
      return by_type<Sum>(dtype, side_of_into, into, other);
    case Reduction::max:
      return by_type<Max>(dtype, side_of_into, into, other);
    case Reduction::min:
      return by_type<Min>(dtype, side_of_into, into, other);
  }
}

}  // namespace mtf
