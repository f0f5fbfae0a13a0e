// The oracle of the elementwise kernels: docs/NUMERICS.md as naive scalar code over multi-indices,
// one element at a time. Values of every dtype are held as double, which represents each exactly.
#pragma once

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/oracle_scalar.h"

namespace mtf::oracle {

using Buffer = std::vector<std::byte>;
using Index = std::array<int64_t, 32>;  // by DimId::index

inline int64_t elements(const View& v) {
  int64_t n = 1;
  for (int64_t s : v.size)
    n *= s;
  return n;
}

inline int64_t position(const View& v, const Index& at) {
  int64_t p = 0;
  for (size_t i = 0; i < v.dims.size(); ++i)
    p = p * v.size[i] + at[static_cast<size_t>(v.dims[i].index)];
  return p;
}

template <class T>
T raw(const Buffer& b, int64_t i) {
  T x;
  std::memcpy(&x, b.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return x;
}
template <class T>
void set_raw(Buffer& b, int64_t i, T x) {
  std::memcpy(b.data() + i * static_cast<int64_t>(sizeof(T)), &x, sizeof(T));
}

inline double get(DType t, const Buffer& b, int64_t i) {
  switch (t) {
    case DType::f32:
      return static_cast<double>(raw<float>(b, i));
    case DType::f64:
      return raw<double>(b, i);
    case DType::i32:
      return raw<int32_t>(b, i);
    case DType::bf16:
      return static_cast<double>(__builtin_bit_cast(float, uint32_t{raw<uint16_t>(b, i)} << 16));
    default:
      return raw<uint8_t>(b, i);
  }
}

// Round to nearest even by halves: x lies between two multiples of the last place of bf16.
inline float nearest_bf16(float x) {
  if (std::isnan(x) || std::isinf(x) || x == 0)
    return x;
  int exponent;
  std::frexp(x, &exponent);
  const double place = std::ldexp(1.0, std::max(exponent, -125) - 8);
  const double rounded = std::nearbyint(static_cast<double>(x) / place) * place;
  return static_cast<float>(std::fabs(rounded) >= std::ldexp(1.0, 128) ? std::copysign(INFINITY, x)
                                                                       : rounded);
}

inline double rounded(DType to, DType from, double x) {
  const bool integral = from == DType::i32 || from == DType::u8 || from == DType::boolean;
  auto saturated = [x](double low, double high) {
    return std::isnan(x) ? 0 : std::trunc(std::min(std::max(x, low), high)) + 0.0;  // no -0
  };
  switch (to) {
    case DType::f64:
      return x;
    case DType::f32:
      return static_cast<double>(static_cast<float>(x));
    case DType::bf16:
      return static_cast<double>(nearest_bf16(static_cast<float>(x)));
    case DType::i32:
      return saturated(-2147483648.0, 2147483647.0);
    case DType::u8:
      return integral ? static_cast<uint8_t>(static_cast<int32_t>(x)) : saturated(0, 255);
    case DType::boolean:
      return x != 0;
  }
  return 0;
}

inline void set(DType t, Buffer& b, int64_t i, double x) {
  switch (t) {
    case DType::f32:
      return set_raw(b, i, static_cast<float>(x));
    case DType::f64:
      return set_raw(b, i, x);
    case DType::i32:
      return set_raw(b, i, static_cast<int32_t>(x));
    case DType::bf16: {
      uint32_t bits = __builtin_bit_cast(uint32_t, static_cast<float>(x));
      return set_raw(b, i, static_cast<uint16_t>((bits >> 16) | (std::isnan(x) ? 0x40 : 0)));
    }
    default:
      return set_raw(b, i, static_cast<uint8_t>(x));
  }
}

inline double step_value(const BodyStep& s, double a, double b, double c,
                         const std::array<DType, 3>& from) {
  auto is_float = [](DType t) { return t == DType::f32 || t == DType::bf16; };
  const bool truth = s.op >= Scalar::less && s.op <= Scalar::is_finite;
  bool wide = !truth && s.type == DType::f64, real = !truth && is_float(s.type);
  for (size_t i = s.op == Scalar::select ? 1 : 0; i < 3; ++i) {
    wide = wide || from[i] == DType::f64;
    real = real || is_float(from[i]);
  }
  if (s.op == Scalar::copy)
    return rounded(s.type, from[0], a);
  const bool condition = a != 0;
  const double first = s.op == Scalar::select ? condition : a;
  if (wide)
    return rounded(s.type, DType::f64, float_op<double>(s.op, first, b, c, s.immediate));
  if (real)
    return rounded(s.type, truth ? DType::boolean : DType::f32,
                   static_cast<double>(float_op<float>(s.op, float(first), float(b), float(c),
                                                       float(s.immediate))));
  return rounded(s.type, DType::i32,
                 integer_op(s.op, int64_t(first), int64_t(b), int64_t(c), int64_t(s.immediate)));
}

// All registers of a body at one index; `dtypes` gets what each holds.
inline std::vector<double> registers_at(const KernelCall& call, const std::vector<Buffer>& in,
                                        const Index& at, std::vector<DType>* dtypes = nullptr) {
  std::vector<double> reg;
  std::vector<DType> type;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    reg.push_back(get(call.inputs[i].dtype, in[i], position(call.inputs[i], at)));
    type.push_back(call.inputs[i].dtype);
  }
  for (const BodyStep& s : call.body.steps) {
    auto value = [&](int r) { return r < 0 ? 0.0 : reg[static_cast<size_t>(r)]; };
    auto dtype = [&](int r) { return r < 0 ? DType::boolean : type[static_cast<size_t>(r)]; };
    reg.push_back(
        step_value(s, value(s.a), value(s.b), value(s.c), {dtype(s.a), dtype(s.b), dtype(s.c)}));
    type.push_back(s.type);
  }
  if (dtypes)
    *dtypes = type;
  return reg;
}

// f(at) for every index of the dims, the last one fastest; other entries of `at` stay.
template <class F>
void for_each(const std::vector<DimId>& dims, const std::vector<int64_t>& size, Index& at, F f,
              size_t i = 0) {
  if (i == dims.size())
    return f(at);
  int64_t& k = at[static_cast<size_t>(dims[i].index)];
  for (k = 0; k < size[i]; ++k)
    for_each(dims, size, at, f, i + 1);
  k = 0;
}

inline void map(const KernelCall& call, const std::vector<Buffer>& in, std::vector<Buffer>& out) {
  Index at{};
  for_each(call.results[0].dims, call.results[0].size, at, [&](const Index& i) {
    std::vector<DType> dtypes;
    auto reg = registers_at(call, in, i, &dtypes);
    for (size_t r = 0; r < out.size(); ++r) {
      const size_t k = static_cast<size_t>(call.body.results[r]);
      set(call.results[r].dtype, out[r], position(call.results[r], i),
          rounded(call.results[r].dtype, dtypes[k], reg[k]));
    }
  });
}

// The binary tree over consecutive values; a missing partner is skipped.
template <class T, class F>
T tree(std::vector<T> v, F fold) {
  while (v.size() > 1) {
    std::vector<T> up;
    for (size_t i = 0; i < v.size(); i += 2)
      up.push_back(i + 1 < v.size() ? fold(v[i], v[i + 1]) : v[i]);
    v = up;
  }
  return v[0];
}

template <class T>
struct Reduction {
  const KernelCall& call;
  const std::vector<Buffer>& in;
  size_t reg;
  std::function<T(T, T)> fold;
  T neutral;

  int64_t extent(DimId d) const {
    for (const View& v : call.inputs)
      for (size_t i = 0; i < v.dims.size(); ++i)
        if (v.dims[i] == d)
          return v.size[i];
    return 1;
  }

  // The leaf of block `block[i]` of every reduced dim i.
  T leaf(Index at, const std::vector<int64_t>& block) const {
    std::vector<T> chain(16, neutral);
    std::vector<DimId> dims;
    std::vector<int64_t> size;
    for (const Reduced& r : call.reduced) {
      dims.push_back(r.dim);
      size.push_back(extent(r.dim) / r.blocks);
    }
    int64_t n = 0;
    Index within{};
    for_each(dims, size, within, [&](const Index& i) {
      for (size_t d = 0; d < dims.size(); ++d)
        at[static_cast<size_t>(dims[d].index)] =
            block[d] * size[d] + i[static_cast<size_t>(dims[d].index)];
      T& c = chain[static_cast<size_t>(n++ % 16)];
      c = fold(c, static_cast<T>(registers_at(call, in, at)[reg]));
    });
    return tree(chain, fold);
  }

  // Folds dims i, i+1, ... for a result at `at`.
  T folded(const Index& at, std::vector<int64_t> block) const {
    const size_t i = block.size();
    if (i == call.reduced.size())
      return leaf(at, block);
    const Reduced& r = call.reduced[i];
    block.push_back(0);
    if (r.kept.index >= 0) {
      block[i] = at[static_cast<size_t>(r.kept.index)];
      return folded(at, block);
    }
    std::vector<T> values;
    for (block[i] = 0; block[i] < r.blocks; ++block[i])
      values.push_back(folded(at, block));
    return tree(values, fold);
  }
};

template <class T>
void reduce_as(const KernelCall& call, const std::vector<Buffer>& in, Buffer& out, DType held) {
  const std::string name = call.attrs.get_or<std::string>("reduction", "sum");
  const T top =
      std::is_integral_v<T> ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();
  const T low = std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : -top;
  Reduction<T> sum{call,
                   in,
                   call.body.results.empty() ? 0 : static_cast<size_t>(call.body.results[0]),
                   {},
                   T(-0.0)};
  sum.fold = [](T a, T b) { return static_cast<T>(a + b); };
  if (name != "sum") {
    const bool max = name == "max";
    sum.neutral = max ? low : top;
    sum.fold = [max](T a, T b) {
      if constexpr (std::is_integral_v<T>)
        return max ? std::max(a, b) : std::min(a, b);
      else
        return max ? -smaller<T>(-a, -b) : smaller<T>(a, b);
    };
  }
  Index at{};
  const View& r = call.results[0];
  for_each(r.dims, r.size, at, [&](const Index& i) {
    set(r.dtype, out, position(r, i),
        rounded(r.dtype, held, static_cast<double>(sum.folded(i, {}))));
  });
}

inline void reduce(const KernelCall& call, const std::vector<Buffer>& in, Buffer& out) {
  std::vector<DType> dtypes;
  registers_at(call, in, {}, &dtypes);
  const DType value =
      dtypes[call.body.results.empty() ? 0 : static_cast<size_t>(call.body.results[0])];
  const DType result = call.results[0].dtype;
  auto any = [&](DType t) { return value == t || result == t; };
  if (any(DType::f64))
    reduce_as<double>(call, in, out, DType::f64);
  else if (any(DType::f32) || any(DType::bf16))
    reduce_as<float>(call, in, out, DType::f32);
  else
    reduce_as<int32_t>(call, in, out, DType::i32);
}

// Every element of the reduced dims is a block of its own.
inline void tree_sum(KernelCall call, const std::vector<Buffer>& in, Buffer& out) {
  for (Reduced& r : call.reduced)
    for (size_t i = 0; i < call.inputs[0].dims.size(); ++i)
      if (call.inputs[0].dims[i] == r.dim)
        r.blocks = call.inputs[0].size[i];
  reduce(call, in, out);
}

}  // namespace mtf::oracle
