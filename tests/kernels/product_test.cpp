// Every product kernel equals the scalar definition, bit for bit, on every instruction set.
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
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

DimId dim(char c) {
  return DimId{c};
}

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
  team.run = [size](int64_t tasks, TaskRef f) {
    for (int64_t i = tasks; i-- > 0;)
      f(i, static_cast<int>(i % size));
  };
  return team;
}

void run_into(const KernelCall& call, const std::vector<const std::byte*>& inputs, Isa isa,
              int threads, const std::vector<std::byte*>& results) {
  const auto bytes = static_cast<size_t>(threads * scratch_bytes_per_thread);
  static std::vector<std::byte> memory;
  memory.resize(std::max(memory.size(), bytes + 64));
  void* aligned = memory.data();
  size_t space = memory.size();
  std::align(64, bytes, aligned, space);
  Team team = team_of(threads);
  prepare_product(call, isa)({inputs, results, {static_cast<std::byte*>(aligned), bytes}, team});
}

template <class T>
std::vector<T> run_kernel(const KernelCall& call, const std::vector<const std::byte*>& inputs,
                          Isa isa, int threads) {
  std::vector<T> result(static_cast<size_t>(elements(call.results[0])), T(12345));
  run_into(call, inputs, isa, threads, {reinterpret_cast<std::byte*>(result.data())});
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
  const KernelCall call = call_of(
      {{{'m', 2}, {'n', 2}, {'k', 2}}, {"mk", "kn"}, "mn", {{0, 1, {over('k')}}}}, DType::f32);
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  const std::vector<float> got = run_kernel<float>(
      call, {reinterpret_cast<const std::byte*>(a), reinterpret_cast<const std::byte*>(b)},
      best_isa(), 1);
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
  for (auto [k, blocks] : {std::pair{1, 1},
                           {7, 1},
                           {512, 8},
                           {2048, 8},
                           {2049, 1},
                           {1331, 11},
                           {3 * 900, 3},
                           {6000, 40}})
    check_types(
        {{{'m', 15}, {'n', 34}, {'k', k}}, {"mk", "kn"}, "mn", {{0, 1, {over('k', blocks)}}}});
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
  const std::map<char, int64_t> sizes{{'m', 19}, {'n', 35}, {'k', 48},
                                      {'j', 12}, {'K', 8},  {'J', 4}};
  check_types({sizes, {"mk", "kn"}, "Kmn", {{0, 1, {over('k', 8, 'K')}}}});
  check_types({sizes, {"mk", "kn"}, "nKm", {{0, 1, {over('k', 8, 'K')}}}});
  check_types({sizes, {"mkj", "jkn"}, "KmJn", {{0, 1, {over('k', 8, 'K'), over('j', 4, 'J')}}}});
  check_types({sizes, {"mkj", "jkn"}, "mnK", {{0, 1, {over('k', 8, 'K'), over('j', 6)}}}});
}

TEST_CASE("product: several terms meet block by block") {
  const std::map<char, int64_t> sizes{{'m', 14}, {'n', 33}, {'k', 24},
                                      {'j', 16}, {'i', 5},  {'K', 8}};
  const std::vector<std::string> inputs{"mk", "kn", "jn", "mj", "imj", "ijn"};
  const Term first{0, 1, {over('k', 8)}}, turned{2, 3, {over('j', 8)}};
  const Term inner{4, 5, {over('j', 8), over('i', 5)}};
  check_types({sizes, inputs, "mn", {first, turned}});
  check_types({sizes, inputs, "nm", {first, turned, inner, first}});
  const Term kept_first{0, 1, {over('k', 8, 'K')}},
      kept_inner{4, 5, {over('j', 8, 'K'), over('i', 5)}};
  check_types({sizes, inputs, "mKn", {kept_first, kept_inner}});
  // n is a column of the first term but a batch dim of the second.
  check_types(
      {sizes, {"mk", "kn", "mnk", "nk"}, "mn", {{0, 1, {over('k', 4)}}, {2, 3, {over('k', 4)}}}});
}

TEST_CASE("product: few rows stream the other operand") {
  for (int64_t rows : {1, 2, 3, 4})
    for (const char* b : {"kn", "nk"}) {
      const std::map<char, int64_t> sizes{{'m', rows}, {'n', 45}, {'k', 285}};
      check_types({sizes, {"mk", b}, "mn", {{0, 1, {over('k', 5)}}}});
      check_types({sizes, {b, "km"}, "nm", {{0, 1, {over('k', 1)}}}});
    }
  check_types({{{'m', 2}, {'n', 1500}, {'k', 20}}, {"mk", "kn"}, "mn", {{0, 1, {over('k', 2)}}}});
  const std::map<char, int64_t> sizes{{'b', 3}, {'h', 2}, {'n', 80}, {'k', 41}, {'j', 6}};
  check_types({sizes, {"bhk", "kbjn"}, "bhjn", {{0, 1, {over('k')}}}});
}

TEST_CASE("product: blocks larger than the scratch") {
  check<float>({{{'m', 200}, {'n', 530}, {'k', 6}}, {"mk", "kn"}, "mn", {{0, 1, {over('k', 3)}}}},
               DType::f32);
  check<float>(
      {{{'m', 13}, {'n', 34}, {'k', 1 << 14}}, {"km", "kn"}, "mn", {{0, 1, {over('k', 512)}}}},
      DType::f32);
}

namespace {

float to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float x;
  std::memcpy(&x, &wide, 4);
  return x;
}

// Round to nearest, ties to even, of a finite number.
uint16_t to_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// relu(product + bias[n]) rounded to bf16, and 2 * that + residual[m, n] in f32.
void check_epilogue(int64_t m, int64_t n, int64_t k, const char* result) {
  const Case c{
      {{'m', m}, {'n', n}, {'k', k}}, {"mk", "kn", "n", "nm"}, result, {{0, 1, {over('k')}}}};
  KernelCall call = call_of(c, DType::f32);
  call.results.push_back(call.results[0]);
  call.results[0].dtype = DType::bf16;
  call.body.steps = {{Scalar::add, DType::f32, 4, 2},
                     {Scalar::relu, DType::bf16, 5},
                     {Scalar::scale, DType::f32, 6, -1, -1, 2.0},
                     {Scalar::add, DType::f32, 7, 3}};
  call.body.results = {6, 8};
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> inputs;
  std::vector<const std::byte*> pointers;
  for (const View& v : call.inputs) {
    inputs.emplace_back(static_cast<size_t>(elements(v)));
    for (float& x : inputs.back())
      x = normal(random);
  }
  for (const auto& input : inputs)
    pointers.push_back(reinterpret_cast<const std::byte*>(input.data()));
  const std::vector<float> sums = ProductOracle<float>(call, inputs).result();
  const bool by_rows = result[0] == 'm';
  std::vector<uint16_t> first(sums.size());
  std::vector<float> second(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t row = by_rows ? at / n : at % m, column = by_rows ? at % n : at / m;
    const float x = sums[i] + inputs[2][static_cast<size_t>(column)];
    first[i] = to_bf16(x > 0 ? x : 0);
    second[i] = to_float(first[i]) * 2 + inputs[3][static_cast<size_t>(column * m + row)];
  }
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (!isa_available(isa))
      continue;
    std::vector<uint16_t> got_first(sums.size());
    std::vector<float> got_second(sums.size());
    run_into(call, pointers, isa, 2,
             {reinterpret_cast<std::byte*>(got_first.data()),
              reinterpret_cast<std::byte*>(got_second.data())});
    INFO(m << " x " << n << " x " << k << " -> " << result << " on " << name_of(isa));
    CHECK(got_first == first);
    CHECK(got_second == second);
  }
}

}  // namespace

TEST_CASE("product: bodies are applied to the sums, with several results") {
  for (const char* result : {"mn", "nm"}) {
    check_epilogue(30, 65, 40, result);
    check_epilogue(250, 64, 9, result);
    check_epilogue(3, 300, 20, result);
    check_epilogue(1, 1, 5, result);
  }
}

TEST_CASE("product: a result may be rounded to bf16 without a body") {
  Case c{{{'m', 5}, {'n', 40}, {'k', 3}}, {"mk", "kn"}, "mn", {{0, 1, {over('k')}}}};
  KernelCall call = call_of(c, DType::bf16);
  call.results[0].dtype = DType::bf16;
  const std::vector<uint16_t> a(15, to_bf16(1.5f)), b(120, to_bf16(0.25f));
  std::vector<uint16_t> got(200);
  run_into(
      call,
      {reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<const std::byte*>(b.data())},
      best_isa(), 1, {reinterpret_cast<std::byte*>(got.data())});
  CHECK(got == std::vector<uint16_t>(200, to_bf16(1.125f)));
}

}  // namespace mtf
