// argmax, argmin, top_k, sort and cumsum against naive loops; NaN, signed zeros and ties.
#include <limits>

#include "movement_tensor.h"

namespace mtf::test {
namespace {

enum { rows, over, columns, k };

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

KernelCall call_of(std::string_view kernel) {
  KernelCall call;
  call.kernel = kernel;
  call.attrs.set("over", DimId{over});
  return call;
}

// a comes before b in descending order: NaN first, then by value, +0 before -0.
bool above(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && !std::isnan(b);
  return a > b || (a == b && !std::signbit(a) && std::signbit(b));
}
bool under(double a, double b) {  // by what argmin picks: NaN first too
  return std::isnan(a) || std::isnan(b) ? std::isnan(a) && !std::isnan(b) : above(b, a);
}

constexpr DType types[] = {DType::f32, DType::bf16, DType::f64, DType::i32};

// Few values, so that there are ties; NaN in the floats.
Tensor random_tensor(Random& random, DType type, const Sizes& sizes) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {-0.0, 0.0, 1.5, -2.0, 7.0, nan, -infinity};
  Tensor x(type, random.shuffled({rows, over, columns}), sizes);
  x.fill([&](const Index&) {
    return type == DType::i32 ? double(random.below(9) - 4) : values[random.below(7)];
  });
  return x;
}

std::vector<double> row_of(const Tensor& x, Index i, int64_t size) {
  std::vector<double> row;
  for (i[over] = 0; i[over] < size; ++i[over])
    row.push_back(x.get(i));
  return row;
}

template <class Before>
std::vector<int64_t> sorted_indices(const std::vector<double>& row, Before before) {
  std::vector<int64_t> indices(row.size());
  for (size_t i = 0; i < row.size(); ++i)
    indices[i] = int64_t(i);
  std::stable_sort(indices.begin(), indices.end(),
                   [&](int64_t a, int64_t b) { return before(row[a], row[b]); });
  return indices;
}

Sizes random_sizes(Random& random) {
  return {1 + random.below(4), 1 + random.below(12), 1 + random.below(90)};
}

TEST_CASE("argmax and argmin find the lowest index of the extreme; NaN wins, -0 < +0") {
  Random random(1);
  for (int trial = 0; trial < 48; ++trial) {
    const Sizes sizes = random_sizes(random);
    const Tensor x = random_tensor(random, types[trial % 4], sizes);
    Tensor most(DType::i32, random.shuffled({rows, columns}), sizes), least = most;
    run(prepare_arg_reduce, call_of("argmax"), {&x}, most);
    run(prepare_arg_reduce, call_of("argmin"), {&x}, least);
    CHECK(differs(most, [&](const Index& i) {
            return double(sorted_indices(row_of(x, i, sizes[over]), above)[0]);
          }) == "");
    CHECK(differs(least, [&](const Index& i) {
            return double(sorted_indices(row_of(x, i, sizes[over]), under)[0]);
          }) == "");
  }
}

TEST_CASE("argmax counts from the origin of the shard") {
  const Sizes sizes{1, 8, 1};
  Tensor x(DType::f32, {over}, sizes), y(DType::i32, {}, sizes);
  x.fill([](const Index& i) { return i[over] == 6 ? 2.0 : 1.0; });
  const Tensor part = x.shard(over, 4, 4);
  run(prepare_arg_reduce, call_of("argmax"), {&part}, y);
  CHECK(y.get({}) == 6);
}

TEST_CASE("top_k lists the indices of the greatest values, ties by index") {
  Random random(2);
  for (int trial = 0; trial < 48; ++trial) {
    Sizes sizes = random_sizes(random);
    sizes[k] = 1 + random.below(sizes[over]);
    const Tensor x = random_tensor(random, types[trial % 4], sizes);
    Tensor y(DType::i32, random.shuffled({rows, columns, k}), sizes);
    KernelCall call = call_of("top_k");
    call.attrs.set("to", DimId{k});
    run(prepare_top_k, call, {&x}, y);
    CHECK(differs(y, [&](const Index& i) {
            return double(sorted_indices(row_of(x, i, sizes[over]), above)[i[k]]);
          }) == "");
  }
}

TEST_CASE("sort orders values both ways, NaN as the greatest") {
  Random random(3);
  for (int trial = 0; trial < 48; ++trial) {
    Sizes sizes = random_sizes(random);
    sizes[over] *= 5;
    const Tensor x = random_tensor(random, types[trial % 4], sizes);
    const bool descending = trial % 3 == 0;
    KernelCall call = call_of("sort");
    call.attrs.set("descending", descending);
    Tensor y(types[trial % 4], random.shuffled({rows, over, columns}), sizes);
    run(prepare_sort, call, {&x}, y);
    CHECK(differs(y, [&](const Index& i) {
            const std::vector<double> row = row_of(x, i, sizes[over]);
            const auto order = sorted_indices(row, above);
            return row[order[descending ? i[over] : sizes[over] - 1 - i[over]]];
          }) == "");
  }
}

TEST_CASE("cumsum adds one after another, from +0") {
  Random random(4);
  for (int trial = 0; trial < 48; ++trial) {
    const Sizes sizes = random_sizes(random);
    const DType type = types[trial % 4];
    Tensor x(type, random.shuffled({rows, over, columns}), sizes);
    x.fill([&](const Index&) { return type == DType::i32 ? random.below(99) : random.value(); });
    const bool exclusive = trial % 3 == 0;
    KernelCall call = call_of("cumsum");
    call.attrs.set("exclusive", exclusive);
    Tensor y(type, random.shuffled({rows, over, columns}), sizes);
    run(prepare_cumsum, call, {&x}, y);
    CHECK(differs(y, [&](const Index& i) {
            const std::vector<double> row = row_of(x, i, sizes[over]);
            double sum = 0;
            for (int64_t j = 0; j < i[over] + !exclusive; ++j)
              sum = type == DType::f64 ? sum + row[j] : static_cast<float>(sum + row[j]);
            return type == DType::bf16 ? static_cast<float>(to_bf16(static_cast<float>(sum))) : sum;
          }) == "");
  }
}

}  // namespace
}  // namespace mtf::test
