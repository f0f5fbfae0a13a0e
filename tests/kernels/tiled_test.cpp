// A tiled call gives the bits of its parts run one after the other on whole arrays.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "table.h"

namespace mtf {
namespace {

DimId dim(char c) {
  return DimId{c};
}

struct Array {
  View view;
  std::vector<float> values;
};

Array array(const std::map<char, int64_t>& sizes, const std::string& dims) {
  Array a;
  size_t n = 1;
  for (char d : dims) {
    a.view.dims.push_back(dim(d));
    a.view.size.push_back(sizes.at(d));
    n *= static_cast<size_t>(sizes.at(d));
  }
  a.view.origin.assign(dims.size(), 0);
  a.view.whole = a.view.size;
  a.values.assign(n, 12345.f);
  return a;
}

Team team_of(int size) {
  return {size, [size](int64_t tasks, TaskRef f) {
            for (int64_t i = tasks; i-- > 0;)
              f(i, static_cast<int>(i % size));
          }};
}

void run(const KernelCall& call, std::vector<Array*> inputs, std::vector<Array*> results, Isa isa,
         int threads) {
  const auto bytes =
      static_cast<size_t>(threads * (scratch_bytes_per_thread + call.workspace_bytes));
  std::unique_ptr<std::byte, void (*)(void*)> scratch(
      static_cast<std::byte*>(std::aligned_alloc(64, bytes)), std::free);
  std::memset(scratch.get(), 0x7f, bytes);
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (Array* a : inputs)
    in.push_back(reinterpret_cast<const std::byte*>(a->values.data()));
  for (Array* a : results)
    out.push_back(reinterpret_cast<std::byte*>(a->values.data()));
  Team team = team_of(threads);
  prepare_cpu(call, isa)({in, out, {scratch.get(), bytes}, team});
}

KernelCall product(char over, int64_t blocks) {
  KernelCall call;
  call.kernel = "product";
  call.terms = {{0, 1, {{dim(over), blocks, {}}}}};
  return call;
}

KernelCall reduce(const char* reduction, int64_t blocks) {
  KernelCall call;
  call.kernel = "reduce";
  call.attrs.set("reduction", std::string(reduction));
  call.reduced = {{dim('m'), blocks, {}}};
  call.body.results = {0};
  return call;
}

KernelCall map(std::vector<BodyStep> steps, int inputs) {
  KernelCall call;
  call.kernel = "map";
  call.body.results = {inputs + static_cast<int>(steps.size()) - 1};
  call.body.steps = std::move(steps);
  return call;
}

// Softmax of q k times v over [batch, length, heads, memory]; the values are
// q, k, v, bias | row maxima, mixed | scores, shifted, sums, weights.
std::vector<TiledPart> attention() {
  return {
      {product('d', 1), {0, 1}, {6}},
      {map({{Scalar::add, DType::f32, 0, 1}}, 2), {6, 3}, {7}},
      {reduce("max", 1), {7}, {4}},
      {map({{Scalar::subtract, DType::f32, 0, 1}, {Scalar::exp, DType::f32, 2}}, 2), {7, 4}, {6}},
      {reduce("sum", 4), {6}, {8}},
      {map({{Scalar::divide, DType::f32, 0, 1}}, 2), {6, 8}, {9}},
      {product('m', 4), {9, 2}, {5}}};
}

void check(Isa isa, int threads, int64_t rows) {
  const std::map<char, int64_t> sizes = {{'b', 2}, {'l', 12}, {'h', 3}, {'m', 20}, {'d', 7}};
  std::vector<Array> whole;
  for (const char* dims :
       {"blhd", "bmhd", "bmhd", "lm", "blh", "blhd", "blhm", "blhm", "blh", "blhm"})
    whole.push_back(array(sizes, dims));
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < 4; ++i)
    for (float& x : whole[i].values)
      x = normal(random);
  std::vector<Array> tiled = whole;
  const auto picked = [](std::vector<Array>& from, const std::vector<int>& which) {
    std::vector<Array*> out;
    for (int i : which)
      out.push_back(&from[static_cast<size_t>(i)]);
    return out;
  };

  for (const TiledPart& part : attention()) {
    KernelCall call = part.call;
    for (int i : part.inputs)
      call.inputs.push_back(whole[static_cast<size_t>(i)].view);
    for (int i : part.results)
      call.results.push_back(whole[static_cast<size_t>(i)].view);
    run(call, picked(whole, part.inputs), picked(whole, part.results), isa, threads);
  }

  KernelCall call;
  call.kernel = "tiled";
  call.parts = attention();
  call.tile = {{dim('b'), 1}, {dim('l'), rows}, {dim('h'), 1}};
  const std::vector<int> inputs = {0, 1, 2, 3}, results = {4, 5};
  for (int i : inputs)
    call.inputs.push_back(tiled[static_cast<size_t>(i)].view);
  for (int i : results)
    call.results.push_back(tiled[static_cast<size_t>(i)].view);
  for (size_t i = 6; i < tiled.size(); ++i) {
    call.inner.push_back(tiled[i].view);
    call.inner_at.push_back(call.workspace_bytes);
    call.workspace_bytes += 1024;  // of a tile: at most 12 * 20 floats
  }
  run(call, picked(tiled, inputs), picked(tiled, results), isa, threads);
  for (size_t i = 4; i < 6; ++i)
    REQUIRE(std::memcmp(whole[i].values.data(), tiled[i].values.data(),
                        4 * whole[i].values.size()) == 0);
}

}  // namespace

TEST_CASE("tiles of a chain give the bits of the whole") {
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
    for (int threads : {1, 3})
      for (int64_t rows : {12, 4, 1})
        if (isa_available(isa)) {
          CAPTURE(name_of(isa), threads, rows);
          check(isa, threads, rows);
        }
}

}  // namespace mtf
