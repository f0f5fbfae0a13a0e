// The loops of elementwise bodies for one instruction set: one per op and class, conversions, and
// moves between memory and tiles.
#include "elementwise.h"
#include "elementwise_vector.h"

namespace mtf::MTF_ISA {
namespace {

template <class M, Scalar op, auto formula>
inline auto at_operands(const Operands<M>& x, void* out, int64_t count) {
  auto y = [&] {
    if constexpr (gives_truth(op))
      return M::truth(formula(x));
    else
      return formula(x);
  }();
  if (count == M::lanes)
    store(out, y);
  else
    __builtin_memcpy(out, &y, static_cast<size_t>(count) * sizeof(y) / M::lanes);
}

// Whole vectors, then the tail as a vector whose unused elements are 0: every element goes through
// the same instructions.
template <class M, Scalar op, auto formula>
void step_loop(const void* a, const void* b, const void* c, void* out, int64_t n,
               double immediate) {
  using T = typename M::Element;
  using V = typename M::V;
  constexpr int arity = arity_of(op), lanes = M::lanes;
  constexpr int64_t out_size = gives_truth(op) ? 4 : sizeof(T);
  Operands<M> x;
  x.k = M::splat(immediate);
  auto load_all = [&](int64_t i, auto load_one) {
    if constexpr (op == Scalar::select)
      x.condition = M::mask(load_one(typename M::Truth{}, static_cast<const int32_t*>(a) + i));
    else if constexpr (arity > 0)
      x.a = load_one(V{}, static_cast<const T*>(a) + i);
    if constexpr (arity > 1)
      x.b = load_one(V{}, static_cast<const T*>(b) + i);
    if constexpr (arity > 2)
      x.c = load_one(V{}, static_cast<const T*>(c) + i);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    load_all(i, []<class L>(L, const auto* p) { return load<L>(p); });
    at_operands<M, op, formula>(x, static_cast<char*>(out) + i * out_size, lanes);
  }
  if (i < n) {
    load_all(i, [&]<class L>(L, const auto* p) { return load_some<L>(p, n - i); });
    at_operands<M, op, formula>(x, static_cast<char*>(out) + i * out_size, n - i);
  }
}

// Conversions of one element to the dtype's value, in the dtype's class. Integers become floats by
// rounding, floats integers by truncation (saturating, NaN 0); integers keep their low bits in u8.
inline float to_bf16(float x) {
  uint32_t bits = __builtin_bit_cast(uint32_t, x);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
  return __builtin_bit_cast(float, x == x ? rounded : (bits | 0x400000u) & 0xffff0000u);
}

template <class T>
inline int32_t saturated(T x, T low, T high, int32_t highest) {
  T inside = x >= low ? x : (x == x ? low : T{0});
  return inside >= high ? highest : static_cast<int32_t>(inside < high ? inside : T{0});
}

template <DType to, class T>
inline auto converted(T x) {
  constexpr bool integral = __is_same(T, int32_t);
  if constexpr (to == DType::f32)
    return static_cast<float>(x);
  else if constexpr (to == DType::f64)
    return static_cast<double>(x);
  else if constexpr (to == DType::bf16)
    return to_bf16(static_cast<float>(x));
  else if constexpr (to == DType::boolean)
    return static_cast<int32_t>(x != 0);
  else if constexpr (integral)
    return to == DType::u8 ? x & 255 : x;
  else if constexpr (to == DType::u8)
    return saturated<T>(x, T{0}, T{255}, 255);
  else
    return saturated<T>(x, T{-2147483648.0}, T{2147483648.0}, 2147483647);
}

template <class T, DType to>
void convert_loop(const void* a, const void*, const void*, void* out, int64_t n, double) {
  auto* in = static_cast<const T*>(a);
  auto* result = static_cast<decltype(converted<to>(T{}))*>(out);
  for (int64_t i = 0; i < n; ++i)
    result[i] = converted<to>(in[i]);
}

// A stored element and the value it stands for.
inline float value_of_bf16(uint16_t x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x) << 16);
}

template <DType type, class Stored, class Held>
void load_loop(void* tile, const void* from, int64_t stride, int64_t n) {
  auto* to = static_cast<Held*>(tile);
  auto* in = static_cast<const Stored*>(from);
  auto value = [](Stored x) -> Held {
    if constexpr (type == DType::bf16)
      return value_of_bf16(x);
    else
      return static_cast<Held>(x);
  };
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = value(in[i]);
  } else if (stride == 0) {
    Held only = value(in[0]);
    for (int64_t i = 0; i < n; ++i)
      to[i] = only;
  } else {
    for (int64_t i = 0; i < n; ++i)
      to[i] = value(in[i * stride]);
  }
}

template <DType type, class Stored, class Held>
void store_loop(void* to, int64_t stride, const void* tile, int64_t n) {
  auto* out = static_cast<Stored*>(to);
  auto* in = static_cast<const Held*>(tile);
  auto stored = [](Held x) -> Stored {
    if constexpr (type == DType::bf16)
      return static_cast<uint16_t>(__builtin_bit_cast(uint32_t, x) >> 16);
    else
      return static_cast<Stored>(x);
  };
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      out[i] = stored(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      out[i * stride] = stored(in[i]);
  }
}

template <DType type, class Stored, class Held>
void add_moves(Loops& t) {
  t.load[static_cast<int>(type)] = load_loop<type, Stored, Held>;
  t.store[static_cast<int>(type)] = store_loop<type, Stored, Held>;
  t.convert[0][static_cast<int>(type)] = convert_loop<int32_t, type>;
  t.convert[1][static_cast<int>(type)] = convert_loop<float, type>;
  t.convert[2][static_cast<int>(type)] = convert_loop<double, type>;
}

template <class M>
void add_steps(Loops& t, Class c) {
#define MTF_SCALAR(name, arity)                                     \
  if constexpr (requires(Operands<M> x) { ScalarOps<M>::name(x); }) \
    t.step[static_cast<int>(Scalar::name)][static_cast<int>(c)] =   \
        step_loop<M, Scalar::name, &ScalarOps<M>::name>;
#include "scalar_ops.def"
#undef MTF_SCALAR
}

}  // namespace

void add_elementwise_loops(Loops& t) {
  add_steps<Int>(t, Class::integer);
  add_steps<Real<float>>(t, Class::single);
  add_steps<Real<double>>(t, Class::twice);
  add_moves<DType::f32, float, float>(t);
  add_moves<DType::f64, double, double>(t);
  add_moves<DType::bf16, uint16_t, float>(t);
  add_moves<DType::i32, int32_t, int32_t>(t);
  add_moves<DType::u8, uint8_t, int32_t>(t);
  add_moves<DType::boolean, uint8_t, int32_t>(t);
}

}  // namespace mtf::MTF_ISA
