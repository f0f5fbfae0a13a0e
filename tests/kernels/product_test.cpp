// Every product kernel equals the scalar definition, bit for bit, on every instruction set.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "oracle_product.h"
#include "table.h"

namespace mtf {
namespace {

// Dims are letters; an operand is written "bmk", its sizes are looked up in `sizes`.
struct Case {
  std::map<char, int64_t> sizes;
  std::vector<std::string> inputs;
  std::string result;
  std::vector<Term> terms;
};

DimId dim(char c) { return DimId{c}; }

Reduced over(char d, int64_t blocks = 1, char kept = 0) {
  return {dim(d), blocks, kept ? dim(kept) : DimId{}};
}

View view(const Case& c, const std::string& dims, DType dtype) {
  View v;
  v.dtype = dtype;
  for (char d : dims) {
    v.dims.push_back(dim(d));
    v.size.push_back(c.sizes.at(d));
  }
  v.origin.assign(dims.size(), 0);
  v.whole = v.size;
  return v;
}

int64_t elements(const View& v) {
  int64_t n = 1;
  for (int64_t s : v.size)
    n *= s;
  return n;
}

KernelCall call_of(const Case& c, DType dtype) {
  KernelCall call;
  call.kernel = "product";
  for (const std::string& dims : c.inputs)
    call.inputs.push_back(view(c, dims, dtype));
  call.results.push_back(view(c, c.result, dtype == DType::f64 ? DType::f64 : DType::f32));
  call.terms = c.terms;
  return call;
}

// Runs tasks in a scrambled order, on `size` pretended threads.
Team team_of(int size) {
  Team team;
  team.size = size;
  team.run = [size](int64_t tasks, const std::function<void(int64_t, int)>& f) {
    for (int64_t i = tasks; i-- > 0;)
      f(i, static_cast<int>(i % size));
  };
  return team;
}

template <class T>
std::vector<T> run_kernel(const KernelCall& call, const std::vector<const std::byte*>& inputs,
                          Isa isa, int threads) {
  const Kernel kernel = prepare_product(call, isa);
  std::vector<T> result(static_cast<size_t>(elements(call.results[0])), T(12345));
  std::vector<std::byte> memory(static_cast<size_t>(threads * scratch_bytes_per_thread) + 64);
  void* aligned = memory.data();
  size_t space = memory.size();
  std::align(64, space - 64, aligned, space);
  std::byte* results[] = {reinterpret_cast<std::byte*>(result.data())};
  Team team = team_of(threads);
  kernel({inputs,
          results,
          {static_cast<std::byte*>(aligned),
           static_cast<size_t>(threads * scratch_bytes_per_thread)},
          team});
  return result;
}

float rounded_to_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits &= 0xffff0000u;
  std::memcpy(&x, &bits, 4);
  return x;
}

template <class T>
void check(const Case& c, DType dtype) {
  const KernelCall call = call_of(c, dtype);
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<std::vector<T>> inputs;
  std::vector<std::vector<uint16_t>> narrow;
  std::vector<const std::byte*> pointers;
  for (const View& v : call.inputs) {
    std::vector<T> values(static_cast<size_t>(elements(v)));
    for (T& x : values)
      x = static_cast<T>(random() % 37 == 0 ? -0.0 : normal(random));
    if (dtype == DType::bf16) {
      narrow.emplace_back();
      for (T& x : values) {
        const float f = rounded_to_bf16(static_cast<float>(x));
        uint32_t bits;
        std::memcpy(&bits, &f, 4);
        narrow.back().push_back(static_cast<uint16_t>(bits >> 16));
        x = f;
      }
    }
    inputs.push_back(values);
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    pointers.push_back(dtype == DType::bf16 ? reinterpret_cast<const std::byte*>(narrow[i].data())
                                            : reinterpret_cast<const std::byte*>(inputs[i].data()));
  const std::vector<T> expected = ProductOracle<T>(call, inputs).result();
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
    for (int threads : {1, 3}) {
      if (!isa_available(isa))
        continue;
      const std::vector<T> got = run_kernel<T>(call, pointers, isa, threads);
      size_t wrong = 0;
      for (size_t i = 0; i < got.size(); ++i)
        wrong += std::memcmp(&got[i], &expected[i], sizeof(T)) != 0;
      INFO(c.inputs[0] << "," << c.inputs[1] << "->" << c.result << " on " << name_of(isa)
                       << " with " << threads << " threads, size of type " << sizeof(T));
      CHECK(wrong == 0);
    }
}

void check_types(const Case& c) {
  check<float>(c, DType::f32);
  check<double>(c, DType::f64);
  check<float>(c, DType::bf16);
}

}  // namespace

TEST_CASE("product: a worked example") {
  // [[1, 2], [3, 4]] times [[5, 6], [7, 8]] = [[19, 22], [43, 50]]
  const KernelCall call = call_of({{{'m', 2}, {'n', 2}, {'k', 2}}, {"mk", "kn"}, "mn",
                                   {{0, 1, {over('k')}}}}, DType::f32);
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  const std::vector<float> got =
      run_kernel<float>(call, {reinterpret_cast<const std::byte*>(a),
                               reinterpret_cast<const std::byte*>(b)}, best_isa(), 1);
  CHECK(got == std::vector<float>{19, 22, 43, 50});
}

TEST_CASE("product: every order of dims, sizes that fill no tile") {
  const std::map<char, int64_t> sizes{{'m', 37}, {'n', 53}, {'k', 70}};
  for (const char* a : {"mk", "km"})
    for (const char* b : {"kn", "nk"})
      for (const char* c : {"mn", "nm"})
        check_types({sizes, {a, b}, c, {{0, 1, {over('k', 10)}}}});
}

TEST_CASE("product: blocks of any number, long and odd leaves, chunks") {
  for (auto [k, blocks] : {std::pair{1, 1}, {7, 1}, {512, 8}, {2048, 8}, {2049, 1}, {1331, 11},
                           {3 * 900, 3}, {6000, 40}})
    check_types({{{'m', 15}, {'n', 34}, {'k', k}}, {"mk", "kn"}, "mn", {{0, 1, {over('k', blocks)}}}});
}

TEST_CASE("product: several summed dims, cut or not") {
  const std::map<char, int64_t> sizes{{'m', 13}, {'n', 21}, {'k', 6}, {'j', 40}, {'i', 3}};
  for (const char* a : {"mkji", "ikjm", "jmki"}) {
    check_types({sizes, {a, "kjin"}, "mn", {{0, 1, {over('k', 3), over('j', 4), over('i')}}}});
    check_types({sizes, {a, "nijk"}, "nm", {{0, 1, {over('i', 3), over('k'), over('j', 5)}}}});
  }
  check_types({sizes, {"mj", "kn"}, "mn", {{0, 1, {over('k', 2), over('j', 8)}}}});
}

TEST_CASE("product: batch dims and broadcasts") {
  const std::map<char, int64_t> sizes{{'b', 3}, {'h', 5}, {'m', 17}, {'n', 40}, {'k', 33}};
  check_types({sizes, {"bmhk", "bnhk"}, "bhmn", {{0, 1, {over('k', 3)}}}});
  check_types({sizes, {"bhmk", "bnk"}, "bmhn", {{0, 1, {over('k')}}}});
  check_types({sizes, {"bmk", "bmk"}, "bm", {{0, 1, {over('k', 11)}}}});
  check_types({sizes, {"bm", "nh"}, "hbnm", {{0, 1, {}}}});
  check_types({sizes, {"bn", "bn"}, "nb", {{0, 1, {}}}});
  check_types({sizes, {"k", "k"}, "", {{0, 1, {over('k', 3)}}}});
}

TEST_CASE("product: kept block dims") {
  const std::map<char, int64_t> sizes{{'m', 19}, {'n', 35}, {'k', 48}, {'j', 12},
                                      {'K', 8}, {'J', 4}};
  check_types({sizes, {"mk", "kn"}, "Kmn", {{0, 1, {over('k', 8, 'K')}}}});
  check_types({sizes, {"mk", "kn"}, "nKm", {{0, 1, {over('k', 8, 'K')}}}});
  check_types({sizes, {"mkj", "jkn"}, "KmJn", {{0, 1, {over('k', 8, 'K'), over('j', 4, 'J')}}}});
  check_types({sizes, {"mkj", "jkn"}, "mnK", {{0, 1, {over('k', 8, 'K'), over('j', 6)}}}});
}

TEST_CASE("product: several terms meet block by block") {
  const std::map<char, int64_t> sizes{{'m', 14}, {'n', 33}, {'k', 24}, {'j', 16},
                                      {'i', 5}, {'K', 8}};
  const std::vector<std::string> inputs{"mk", "kn", "jn", "mj", "imj", "ijn"};
  const Term first{0, 1, {over('k', 8)}}, turned{2, 3, {over('j', 8)}};
  const Term inner{4, 5, {over('j', 8), over('i', 5)}};
  check_types({sizes, inputs, "mn", {first, turned}});
  check_types({sizes, inputs, "nm", {first, turned, inner, first}});
  const Term kept_first{0, 1, {over('k', 8, 'K')}}, kept_inner{4, 5, {over('j', 8, 'K'), over('i', 5)}};
  check_types({sizes, inputs, "mKn", {kept_first, kept_inner}});
  // n is a column of the first term but a batch dim of the second.
  check_types({sizes, {"mk", "kn", "mnk", "nk"}, "mn",
               {{0, 1, {over('k', 4)}}, {2, 3, {over('k', 4)}}}});
}

TEST_CASE("product: few rows stream the other operand") {
  for (int64_t rows : {1, 2, 3, 4})
    for (int64_t columns : {33, 300, 1500})
      for (const char* b : {"kn", "nk"}) {
        const std::map<char, int64_t> sizes{{'m', rows}, {'n', columns}, {'k', 330}};
        check_types({sizes, {"mk", b}, "mn", {{0, 1, {over('k', 5)}}}});
        check_types({sizes, {b, "km"}, "nm", {{0, 1, {over('k', 1)}}}});
      }
  const std::map<char, int64_t> sizes{{'b', 3}, {'h', 2}, {'n', 80}, {'k', 41}, {'j', 6}};
  check_types({sizes, {"bhk", "kbjn"}, "bhjn", {{0, 1, {over('k')}}}});
}

TEST_CASE("product: blocks larger than the scratch") {
  check<float>({{{'m', 200}, {'n', 600}, {'k', 1100}}, {"mk", "kn"}, "mn",
                {{0, 1, {over('k', 4)}}}}, DType::f32);
  check<float>({{{'m', 13}, {'n', 70}, {'k', 1 << 16}}, {"km", "kn"}, "mn",
                {{0, 1, {over('k', 2048)}}}}, DType::f32);
}

}  // namespace mtf
