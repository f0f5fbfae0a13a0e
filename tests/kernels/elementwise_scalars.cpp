// Every scalar op over representations from all over its range: equal bits at every width and on
// every instruction set, and close to the C library's double.
#include <catch2/catch.hpp>

#include <random>

#include "oracle.h"
#include "scalar_ops.h"
#include "table.h"

using namespace mtf;
using oracle::Buffer;

namespace {

Buffer run_map(const KernelCall& call, Isa isa, const std::vector<Buffer>& in) {
  static std::vector<std::byte> memory(static_cast<size_t>(scratch_bytes_per_thread + 64));
  std::byte* scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  Buffer out(
      static_cast<size_t>(oracle::elements(call.results[0]) * size_of(call.results[0].dtype)));
  std::vector<const std::byte*> inputs;
  for (const Buffer& b : in)
    inputs.push_back(b.data());
  std::vector<std::byte*> results = {out.data()};
  Team team{1, [](int64_t tasks, const auto& f) {
              for (int64_t t = 0; t < tasks; ++t)
                f(t, 0);
            }};
  prepare_map(
      call, isa)({inputs, results, {scratch, static_cast<size_t>(scratch_bytes_per_thread)}, team});
  return out;
}

KernelCall one_step(Scalar op, DType type, int64_t n) {
  const DType result = gives_truth(op) ? DType::boolean : type;
  KernelCall call;
  View v;
  v.dtype = type;
  v.dims = {DimId{0}};
  v.size = v.whole = {n};
  v.origin = {0};
  call.inputs = {v, v, v};
  v.dtype = result;
  call.results = {v};
  call.body = {{{op, result, 0, 1, 2, 0.75}}, {3}};
  return call;
}

// Random bits: all exponents, denormals, infinities, NaNs; and a half near 1.
template <class T, class Bits>
Buffer values(int64_t n, unsigned seed) {
  static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN,  1,    -1,
                                   0.5, 88.7, -104,     709.7,     -745, 1e-45};
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 4);
  Buffer b(static_cast<size_t>(n) * sizeof(T));
  for (int64_t i = 0; i < n; ++i) {
    T x = i < 13  ? T(special[(i + seed) % 13])
          : i % 2 ? T(normal(random))
                  : __builtin_bit_cast(T, Bits(random()));
    oracle::set_raw(b, i, x);
  }
  return b;
}

template <class T>
int64_t first_difference(const Buffer& a, const Buffer& b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T x = oracle::raw<T>(a, i), y = oracle::raw<T>(b, i);
    if (std::memcmp(&x, &y, sizeof x) != 0 && !(x != x && y != y))
      return i;
  }
  return -1;
}

template <class T, class Bits>
void check_ops(DType type) {
  constexpr int64_t n = 20011;
  const std::vector<Buffer> in = {values<T, Bits>(n, 1), values<T, Bits>(n, 2),
                                  values<T, Bits>(n, 5)};
  for (int k = 0; k < scalar_count; ++k) {
    const Scalar op = static_cast<Scalar>(k);
    const KernelCall call = one_step(op, type, n);
    std::vector<Buffer> expected(1,
                                 Buffer(static_cast<size_t>(n * size_of(call.results[0].dtype))));
    oracle::map(call, in, expected);
    for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
      if (!isa_available(isa))
        continue;
      const Buffer out = run_map(call, isa, in);
      const int64_t i = gives_truth(op) ? first_difference<uint8_t>(out, expected[0], n)
                                        : first_difference<T>(out, expected[0], n);
      INFO("op " << k << " on " << name_of(isa) << " at " << oracle::raw<T>(in[0], i < 0 ? 0 : i)
                 << ", " << oracle::raw<T>(in[1], i < 0 ? 0 : i));
      CHECK(i == -1);
    }
  }
}

double one(Scalar op, double x, DType type) {
  KernelCall call = one_step(op, type, 1);
  Buffer b(static_cast<size_t>(size_of(type)));
  oracle::set(type, b, 0, x);
  return oracle::get(type, run_map(call, best_isa(), {b, b, b}), 0);
}

}  // namespace

TEST_CASE("f32 ops have equal bits on every instruction set") {
  check_ops<float, uint32_t>(DType::f32);
}

TEST_CASE("f64 ops have equal bits on every instruction set") {
  check_ops<double, uint64_t>(DType::f64);
}

TEST_CASE("functions agree with the C library") {
  struct Case {
    Scalar op;
    double (*reference)(double);
  };
  const Case cases[] = {
      {Scalar::exp, [](double x) { return std::exp(x); }},
      {Scalar::expm1, [](double x) { return std::expm1(x); }},
      {Scalar::log1p, [](double x) { return std::log1p(x); }},
      {Scalar::sin, [](double x) { return std::sin(x); }},
      {Scalar::cos, [](double x) { return std::cos(x); }},
      {Scalar::tanh, [](double x) { return std::tanh(x); }},
      {Scalar::erf, [](double x) { return std::erf(x); }},
      {Scalar::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Scalar::softplus, [](double x) { return std::log(1 + std::exp(x)); }},
      {Scalar::gelu, [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2)); }},
      {Scalar::silu, [](double x) { return x / (1 + std::exp(-x)); }},
  };
  for (const Case& c : cases)
    for (double x : {-0.9, -0.25, 0.0, 0.125, 0.7, 3.0, 9.0}) {
      INFO("op " << static_cast<int>(c.op) << " at " << x);
      CHECK(one(c.op, x, DType::f64) == Approx(c.reference(x)).epsilon(1e-13).margin(1e-15));
      const double narrow = static_cast<double>(static_cast<float>(x));
      CHECK(one(c.op, narrow, DType::f32) ==
            Approx(c.reference(narrow)).epsilon(1e-6).margin(1e-9));
    }
}

TEST_CASE("gradients are the slopes of their functions") {
  const std::pair<Scalar, Scalar> pairs[] = {{Scalar::gelu, Scalar::gelu_gradient},
                                             {Scalar::gelu_tanh, Scalar::gelu_tanh_gradient},
                                             {Scalar::silu, Scalar::silu_gradient}};
  for (auto [f, gradient] : pairs)
    for (double x : {-3.0, -0.5, 0.0, 0.8, 2.5}) {
      const double h = 1e-5,
                   slope = (one(f, x + h, DType::f64) - one(f, x - h, DType::f64)) / (2 * h);
      CHECK(one(gradient, x, DType::f64) == Approx(slope).epsilon(1e-8).margin(1e-9));
    }
}

TEST_CASE("bf16 rounds to nearest even") {
  for (auto [x, y] : {std::pair{1.00390625, 1.0},
                      {1.01171875, 1.015625},
                      {1.004, 1.0078125},
                      {3.4e38, INFINITY}}) {
    KernelCall call = one_step(Scalar::copy, DType::f32, 1);
    call.body.steps[0].type = call.results[0].dtype = DType::bf16;
    Buffer b(4);
    oracle::set(DType::f32, b, 0, x);
    CHECK(oracle::get(DType::bf16, run_map(call, best_isa(), {b, b, b}), 0) == y);
  }
}
