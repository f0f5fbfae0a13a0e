// map, reduce and tree_sum against the oracle on random shapes, dim orders, dtypes and bodies:
// equal bits on every instruction set and for any number of threads.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "oracle.h"
#include "table.h"

using namespace mtf;
using oracle::Buffer;

namespace {

using Random = std::mt19937;

int64_t pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Team team_of(int threads) {
  return {threads, [threads](int64_t tasks, const auto& f) {
            std::atomic<int64_t> next{0};
            auto work = [&](int thread) {
              for (int64_t t; (t = next++) < tasks;)
                f(t, thread);
            };
            std::vector<std::thread> others;
            for (int i = 1; i < threads; ++i)
              others.emplace_back(work, i);
            work(0);
            for (auto& t : others)
              t.join();
          }};
}

View view_of(DType type, std::vector<DimId> dims, const std::vector<int64_t>& size_of_dim) {
  View v;
  v.dtype = type;
  v.dims = std::move(dims);
  for (DimId d : v.dims) {
    v.size.push_back(size_of_dim[static_cast<size_t>(d.index)]);
    v.origin.push_back(0);
  }
  v.whole = v.size;
  return v;
}

Buffer buffer_of(const View& v) {
  return Buffer(static_cast<size_t>(oracle::elements(v) * size_of(v.dtype)));
}

Buffer random_buffer(const View& v, Random& random) {
  static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-40, 3e38, 1, -1};
  Buffer b = buffer_of(v);
  std::normal_distribution<double> normal(0, 2);
  const bool specials = pick(random, 0, 3) == 0;
  for (int64_t i = 0; i < oracle::elements(v); ++i) {
    double x = specials && pick(random, 0, 9) == 0 ? special[pick(random, 0, 9)] : normal(random);
    if (v.dtype == DType::i32)
      x = double(pick(random, 0, 9) == 0 ? pick(random, INT32_MIN, INT32_MAX)
                                         : pick(random, -9, 9));
    if (v.dtype == DType::u8 || v.dtype == DType::boolean)
      x = double(pick(random, 0, v.dtype == DType::u8 ? 255 : 1));
    oracle::set(v.dtype, b, i, oracle::rounded(v.dtype, DType::f64, x));
  }
  return b;
}

std::vector<Buffer> run(const Kernel& kernel, const KernelCall& call, const std::vector<Buffer>& in,
                        int threads, bool in_place = false) {
  static std::vector<std::byte> memory(static_cast<size_t>(3 * scratch_bytes_per_thread + 64));
  std::byte* scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  std::vector<Buffer> out;
  for (const View& v : call.results)
    out.push_back(buffer_of(v));
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> results;
  if (in_place)
    out[0] = in[0];
  for (const Buffer& b : in)
    inputs.push_back(b.data());
  for (Buffer& b : out)
    results.push_back(b.data());
  if (in_place)
    inputs[0] = out[0].data();
  Team team = team_of(threads);
  kernel(
      {inputs, results, {scratch, static_cast<size_t>(threads * scratch_bytes_per_thread)}, team});
  return out;
}

// Index of the first element that differs in bits (all NaNs are one), or -1.
int64_t first_difference(const View& v, const Buffer& a, const Buffer& b) {
  for (int64_t i = 0; i < oracle::elements(v); ++i) {
    const size_t n = static_cast<size_t>(size_of(v.dtype)), at = static_cast<size_t>(i) * n;
    const bool nan =
        std::isnan(oracle::get(v.dtype, a, i)) && std::isnan(oracle::get(v.dtype, b, i));
    if (!nan && std::memcmp(a.data() + at, b.data() + at, n) != 0)
      return i;
  }
  return -1;
}

using Prepare = Kernel (*)(const KernelCall&, Isa);

void check(const KernelCall& call, Prepare prepare, const std::vector<Buffer>& in,
           const std::vector<Buffer>& expected, bool in_place = false) {
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (!isa_available(isa))
      continue;
    Kernel kernel = prepare(call, isa);
    for (int threads : {1, 3}) {
      auto out = run(kernel, call, in, threads, in_place);
      for (size_t r = 0; r < out.size(); ++r) {
        INFO("isa " << name_of(isa) << ", threads " << threads << ", result " << r);
        const int64_t i = first_difference(call.results[r], out[r], expected[r]);
        if (i >= 0)
          FAIL("element " << i << " is " << oracle::get(call.results[r].dtype, out[r], i)
                          << ", expected " << oracle::get(call.results[r].dtype, expected[r], i));
      }
    }
  }
  SUCCEED();
}

// Sizes of `n` dims with about `budget` elements in all.
std::vector<int64_t> random_sizes(Random& random, int n, int64_t budget) {
  std::vector<int64_t> size;
  for (int i = 0; i < n; ++i) {
    const int64_t most = i + 1 == n ? budget : std::max<int64_t>(1, budget / (n - i));
    size.push_back(
        std::min<int64_t>(pick(random, 1, std::max<int64_t>(1, most)), pick(random, 1, 700)));
    budget = std::max<int64_t>(1, budget / size.back());
  }
  std::shuffle(size.begin(), size.end(), random);
  return size;
}

std::vector<DimId> all_dims(int n) {
  std::vector<DimId> dims;
  for (int i = 0; i < n; ++i)
    dims.push_back({i});
  return dims;
}

std::vector<DimId> shuffled(std::vector<DimId> dims, Random& random) {
  if (pick(random, 0, 1))
    std::shuffle(dims.begin(), dims.end(), random);
  return dims;
}

DType random_dtype(Random& random) {
  static const DType types[] = {DType::f32,  DType::f32, DType::f32, DType::f64,
                                DType::bf16, DType::i32, DType::u8,  DType::boolean};
  return types[pick(random, 0, 7)];
}

bool is_integral(DType t) {
  return t != DType::f32 && t != DType::f64 && t != DType::bf16;
}

// Which ops integers lack.
bool float_only(Scalar op) {
  static const Scalar ops[] = {
      Scalar::power,         Scalar::exp,          Scalar::expm1,
      Scalar::log,           Scalar::log1p,        Scalar::sqrt,
      Scalar::rsqrt,         Scalar::reciprocal,   Scalar::sin,
      Scalar::cos,           Scalar::tanh,         Scalar::erf,
      Scalar::sigmoid,       Scalar::softplus,     Scalar::gelu,
      Scalar::gelu_gradient, Scalar::gelu_tanh,    Scalar::gelu_tanh_gradient,
      Scalar::silu,          Scalar::silu_gradient};
  return std::find(std::begin(ops), std::end(ops), op) != std::end(ops);
}

constexpr int arities[] = {
#define MTF_SCALAR(name, arity) arity,
#include "scalar_ops.def"
#undef MTF_SCALAR
};

void add_random_steps(KernelCall& call, int steps, Random& random) {
  std::vector<DType> types;
  for (const View& v : call.inputs)
    types.push_back(v.dtype);
  for (int i = 0; i < steps; ++i) {
    BodyStep s{static_cast<Scalar>(pick(random, 0, int64_t(std::size(arities)) - 1)),
               random_dtype(random)};
    const int arity = arities[static_cast<int>(s.op)];
    int* operands[] = {&s.a, &s.b, &s.c};
    bool integral = is_integral(s.type);
    for (int k = 0; k < arity; ++k) {
      *operands[k] = static_cast<int>(pick(random, 0, int64_t(types.size()) - 1));
      integral = integral && is_integral(types[static_cast<size_t>(*operands[k])]);
    }
    s.immediate = double(pick(random, -4, 4)) / (integral ? 1 : 8);
    if (is_integral(s.type))
      s.immediate = std::trunc(s.immediate);
    if (s.op >= Scalar::less && s.op <= Scalar::is_finite)
      s.type = DType::boolean;
    else if (integral && float_only(s.op))
      s.type = DType::f32;
    call.body.steps.push_back(s);
    types.push_back(s.type);
  }
}

}  // namespace

TEST_CASE("map equals the oracle on random bodies") {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    INFO("round " << round);
    const int n = static_cast<int>(pick(random, 0, 4));
    const auto size = random_sizes(random, n, round % 10 == 0 ? 40000 : 2500);
    KernelCall call;
    for (int64_t i = pick(random, 1, 3); i-- > 0;) {
      std::vector<DimId> dims;
      for (DimId d : all_dims(n))
        if (pick(random, 0, 3) > 0)
          dims.push_back(d);
      call.inputs.push_back(view_of(random_dtype(random), shuffled(dims, random), size));
    }
    add_random_steps(call, static_cast<int>(pick(random, 0, 6)), random);
    const int registers = static_cast<int>(call.inputs.size() + call.body.steps.size());
    for (int64_t r = pick(random, 1, 3); r-- > 0;) {
      const int reg = r == 0 ? registers - 1 : static_cast<int>(pick(random, 0, registers - 1));
      const size_t k = static_cast<size_t>(reg), inputs = call.inputs.size();
      call.body.results.push_back(reg);
      call.results.push_back(
          view_of(k < inputs ? call.inputs[k].dtype : call.body.steps[k - inputs].type,
                  shuffled(all_dims(n), random), size));
    }
    std::vector<Buffer> in, expected;
    for (const View& v : call.inputs)
      in.push_back(random_buffer(v, random));
    for (const View& v : call.results)
      expected.push_back(buffer_of(v));
    oracle::map(call, in, expected);
    check(call, prepare_map, in, expected);
    if (call.inputs[0].dims == call.results[0].dims &&
        call.inputs[0].dtype == call.results[0].dtype)
      check(call, prepare_map, in, expected, true);
  }
}

TEST_CASE("reduce equals the oracle on random shapes and blocks") {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    INFO("round " << round);
    const int n = static_cast<int>(pick(random, 1, 4));
    auto size = random_sizes(random, n, round % 10 == 0 ? 40000 : 2500);
    auto order = shuffled(all_dims(n), random);
    KernelCall call;
    static const char* names[] = {"sum", "sum", "max", "min"};
    call.attrs.set("reduction", std::string(names[pick(random, 0, 3)]));
    const int reduced = static_cast<int>(pick(random, 1, n));
    const int kept_blocks = static_cast<int>(pick(random, 0, 2));
    std::vector<DimId> result_dims(order.begin() + reduced, order.end());
    size.resize(16);
    for (int i = 0; i < reduced; ++i) {
      static const int64_t counts[] = {1, 2, 3, 4, 5, 8, 16};
      int64_t& extent = size[static_cast<size_t>(order[static_cast<size_t>(i)].index)];
      Reduced r{order[static_cast<size_t>(i)], counts[pick(random, 0, 6)], {}};
      extent = (extent + r.blocks - 1) / r.blocks * r.blocks;
      if (i < kept_blocks) {
        r.kept = {8 + i};
        size[static_cast<size_t>(8 + i)] = r.blocks;
        result_dims.push_back(r.kept);
      }
      call.reduced.push_back(r);
    }
    const bool body = pick(random, 0, 1);
    call.inputs.push_back(view_of(random_dtype(random), shuffled(all_dims(n), random), size));
    if (body) {
      auto dims = shuffled(all_dims(n), random);
      dims.resize(static_cast<size_t>(pick(random, 0, n)));
      call.inputs.push_back(view_of(random_dtype(random), dims, size));
      add_random_steps(call, static_cast<int>(pick(random, 1, 3)), random);
      call.body.results = {static_cast<int>(call.inputs.size() + call.body.steps.size()) - 1};
    }
    const DType value = body ? call.body.steps.back().type : call.inputs[0].dtype;
    DType type = value == DType::f64 ? DType::f64 : is_integral(value) ? DType::i32 : DType::f32;
    if (is_integral(value) && pick(random, 0, 1))
      type = DType::f32;
    call.results.push_back(view_of(type, shuffled(result_dims, random), size));
    std::vector<Buffer> in, expected = {buffer_of(call.results[0])};
    for (const View& v : call.inputs)
      in.push_back(random_buffer(v, random));
    oracle::reduce(call, in, expected[0]);
    check(call, prepare_reduce, in, expected);
  }
}

TEST_CASE("tree_sum equals the oracle") {
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    INFO("round " << round);
    const int n = static_cast<int>(pick(random, 1, 4));
    const auto size = random_sizes(random, n, 3000);
    auto order = shuffled(all_dims(n), random);
    const auto reduced = pick(random, 1, n);
    KernelCall call;
    for (auto d = order.begin(); d != order.begin() + reduced; ++d)
      call.reduced.push_back({*d, 1, {}});
    const DType type = pick(random, 0, 1) ? DType::f32 : DType::f64;
    call.inputs.push_back(view_of(type, shuffled(all_dims(n), random), size));
    call.results.push_back(
        view_of(type, shuffled({order.begin() + reduced, order.end()}, random), size));
    std::vector<Buffer> in = {random_buffer(call.inputs[0], random)},
                        expected = {buffer_of(call.results[0])};
    oracle::tree_sum(call, in, expected[0]);
    check(call, prepare_tree_sum, in, expected);
  }
}

TEST_CASE("sums of many columns and of few long rows equal the oracle") {
  Random random(4);
  struct Case {
    int64_t rows, columns, blocks;
    DimId over;
  };
  for (const Case& c :
       {Case{24, 4999, 1, {0}}, {40, 2100, 2, {0}}, {2, 60000, 8, {1}}, {1, 40009, 1, {1}}}) {
    const std::vector<int64_t> size = {c.rows, c.columns};
    KernelCall call;
    call.inputs = {view_of(DType::f32, {{0}, {1}}, size)};
    call.results = {view_of(DType::f32, {{1 - c.over.index}}, size)};
    call.reduced = {{c.over, c.blocks, {}}};
    std::vector<Buffer> in = {random_buffer(call.inputs[0], random)};
    std::vector<Buffer> expected = {buffer_of(call.results[0])};
    oracle::reduce(call, in, expected[0]);
    check(call, prepare_reduce, in, expected);
  }
}

TEST_CASE("a sum has the value of its closed form") {
  // 1 + 2 + ... + 4096 is exact in f32 in any order; the sum of -0.0 is -0.0.
  KernelCall call;
  call.inputs = {view_of(DType::f32, {{0}}, {4096})};
  call.results = {view_of(DType::f32, {}, {})};
  call.reduced = {{{0}, 8, {}}};
  Buffer numbers = buffer_of(call.inputs[0]), zeros = numbers;
  for (int64_t i = 0; i < 4096; ++i) {
    oracle::set(DType::f32, numbers, i, double(i + 1));
    oracle::set(DType::f32, zeros, i, -0.0);
  }
  const Kernel kernel = prepare_reduce(call, best_isa());
  CHECK(oracle::get(DType::f32, run(kernel, call, {numbers}, 1)[0], 0) == 4096 * 4097 / 2);
  CHECK(std::signbit(oracle::get(DType::f32, run(kernel, call, {zeros}, 1)[0], 0)));
}
