// Philox against its published vectors; uniform and normal against closed forms; values that depend
// on nothing but seed, step, path and global index.
#include "movement_tensor.h"
#include "philox.h"
#include "random_normal.h"

namespace mtf::test {
namespace {

enum { a, b, c };

TEST_CASE("Philox4x32-10 gives the known answers of the Random123 distribution") {
  const uint32_t all = 0xffffffff;
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) ==
        PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32_10({all, all, all, all}, {all, all}) ==
        PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the random key is FNV-1a of seed and path") {
  // FNV-1a of eight zero bytes, and of them followed by "a", computed by the definition.
  uint64_t hash = 14695981039346656037u;
  for (int i = 0; i < 8; ++i)
    hash *= 1099511628211u;
  CHECK(random_key(0, "") == PhiloxKey{uint32_t(hash), uint32_t(hash >> 32)});
  hash = (hash ^ 'a') * 1099511628211u;
  CHECK(random_key(0, "a") == PhiloxKey{uint32_t(hash), uint32_t(hash >> 32)});
  CHECK(random_key(1, "a") != random_key(0, "a"));
}

TEST_CASE("the normal quantile inverts the normal distribution function") {
  CHECK(normal_quantile(0.5) == 0.0);
  CHECK(normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-15));
  CHECK(normal_quantile(1e-9) == Approx(-5.997807015007686).epsilon(1e-14));
  for (double p : {0x1p-33, 1e-20, 1e-12, 1e-9, 1e-6, 0.001, 0.02, 0.07, 0.0751, 0.1, 0.3, 0.49}) {
    const double x = normal_quantile(p);
    CHECK(std::erfc(-x / std::sqrt(2.0)) / 2 == Approx(p).epsilon(1e-13));
    if (p > 1e-9)
      CHECK(normal_quantile(1 - p) == Approx(-x).epsilon(1e-6));
  }
}

KernelCall random_call(std::string_view kernel, std::vector<int> order) {
  KernelCall call;
  call.kernel = kernel;
  call.attrs.set("seed", int64_t{42});
  call.attrs.set("path", std::string("layers[0]/w"));
  call.attrs.set("order", ids_of(std::move(order)));
  return call;
}

Tensor step_of(int step) {
  Tensor x(DType::i32, {}, {});
  x.set({}, step);
  return x;
}

TEST_CASE("an element takes the word of its global index, whatever shard and storage order") {
  const Sizes sizes{6, 10, 7};
  const Tensor step = step_of(3);
  const KernelCall call = random_call("uniform", {a, b, c});
  const PhiloxKey key = random_key(42, "layers[0]/w");
  const auto expected = [&](const Index& i) {
    const uint64_t index = uint64_t((i[a] * 10 + i[b]) * 7 + i[c]);
    return (random_block(key, 3, index / 4)[index % 4] >> 8) / 16777216.0;
  };
  Random random(1);
  for (int trial = 0; trial < 12; ++trial) {
    Tensor y(DType::f32, random.shuffled({a, b, c}), sizes);
    run(prepare_uniform, call, {&step}, y);
    CHECK(differs(y, expected) == "");
    for (int dim : {a, b, c}) {
      const int64_t size = sizes[dim] / 2;
      Tensor shard = y.shard(dim, sizes[dim] - size, size);
      std::fill(shard.bytes.begin(), shard.bytes.end(), std::byte{0x11});
      run(prepare_uniform, call, {&step}, shard);
      CHECK(differs(shard, expected) == "");
    }
  }
}

TEST_CASE("seed, step and path each change the numbers; no step is step 0") {
  const Sizes sizes{64};
  const auto draw = [&](int64_t seed, const std::string& path, std::vector<const Tensor*> inputs) {
    KernelCall call = random_call("uniform", {a});
    call.attrs.set("seed", seed);
    call.attrs.set("path", path);
    Tensor y(DType::f32, {a}, sizes);
    run(prepare_uniform, call, inputs, y);
    return y.bytes;
  };
  const Tensor zero = step_of(0), one = step_of(1);
  const auto first = draw(1, "w", {});
  CHECK(first == draw(1, "w", {&zero}));
  CHECK(first != draw(1, "w", {&one}));
  CHECK(first != draw(2, "w", {}));
  CHECK(first != draw(1, "v", {}));
}

struct Moments {
  double mean = 0, variance = 0, fourth = 0, least = 1e9, most = -1e9;
};

Moments moments_of(Prepare prepare, const KernelCall& call, DType type) {
  const Sizes sizes{200, 1000};
  Tensor y(type, {a, b}, sizes);
  run(prepare, call, {}, y);
  Moments m;
  const double n = 200 * 1000;
  y.each([&](const Index& i) {
    const double x = y.get(i);
    m.mean += x / n;
    m.variance += x * x / n;
    m.fourth += x * x * x * x / n;
    m.least = std::min(m.least, x);
    m.most = std::max(m.most, x);
  });
  m.variance -= m.mean * m.mean;
  return m;
}

TEST_CASE("uniform fills [low, high) evenly") {
  KernelCall call = random_call("uniform", {a, b});
  const Moments unit = moments_of(prepare_uniform, call, DType::f32);
  CHECK(unit.mean == Approx(0.5).margin(5 * std::sqrt(1.0 / 12 / 2e5)));
  CHECK(unit.variance == Approx(1.0 / 12).epsilon(0.01));
  CHECK(unit.least >= 0);
  CHECK(unit.most < 1);
  call.attrs.set("low", -3.0);
  call.attrs.set("high", 1.0);
  const Moments wide = moments_of(prepare_uniform, call, DType::f64);
  CHECK(wide.mean == Approx(-1.0).margin(0.013));
  CHECK(wide.variance == Approx(16.0 / 12).epsilon(0.01));
  CHECK(wide.least >= -3);
  CHECK(wide.most < 1);
  call.attrs.set("low", 16777215.0);  // where f32 would round up to `high`
  call.attrs.set("high", 16777216.0);
  CHECK(moments_of(prepare_uniform, call, DType::f32).most == 16777215.0);
}

TEST_CASE("normal has the moments of the normal and of the truncated normal distribution") {
  KernelCall call = random_call("normal", {a, b});
  call.attrs.set("std", 0.5);
  const Moments full = moments_of(prepare_normal, call, DType::f32);
  CHECK(full.mean == Approx(0.0).margin(5 * 0.5 / std::sqrt(2e5)));
  CHECK(full.variance == Approx(0.25).epsilon(0.015));
  CHECK(full.fourth == Approx(3 * 0.0625).epsilon(0.03));
  CHECK(full.most > 1.9);
  call.attrs.set("truncated", true);
  const Moments cut = moments_of(prepare_normal, call, DType::f32);
  const double phi_2 = std::exp(-2.0) / std::sqrt(2 * M_PI);  // density at 2
  const double inside = std::erf(std::sqrt(2.0));
  CHECK(cut.mean == Approx(0.0).margin(5 * 0.5 / std::sqrt(2e5)));
  CHECK(cut.variance == Approx(0.25 * (1 - 4 * phi_2 / inside)).epsilon(0.015));
  CHECK(cut.least >= -1);
  CHECK(cut.most <= 1);
}

TEST_CASE("normal is rounded once from f64, in every type") {
  const Sizes sizes{3000};
  Tensor twice(DType::f64, {a}, sizes), single(DType::f32, {a}, sizes);
  Tensor half(DType::bf16, {a}, sizes);
  const KernelCall call = random_call("normal", {a});
  run(prepare_normal, call, {}, twice);
  run(prepare_normal, call, {}, single);
  run(prepare_normal, call, {}, half);
  CHECK(differs(single, [&](const Index& i) { return static_cast<float>(twice.get(i)); }) == "");
  CHECK(differs(half, [&](const Index& i) {  // to 8 significant bits, ties to even
          int exponent;
          const double fraction = std::frexp(twice.get(i), &exponent);
          return std::ldexp(std::nearbyint(fraction * 256), exponent - 8);
        }) == "");
}

}  // namespace
}  // namespace mtf::test
