#include "io/dataset.h"

#include <cmath>
#include <numeric>
#include <set>

#include "io/npy.h"
#include "io/random_bits.h"
#include "temp_dir.h"

using namespace mtf;

namespace {

template <class T>
std::vector<T> read(const Dataset& d, const std::string& input, Split split, int64_t step,
                    Box box) {
  std::vector<T> out(static_cast<size_t>(elements(box.size)), T(77));
  d.read(input, split, step, box.origin, box.size, bytes_in(out));
  return out;
}

// Rows r of x are [10 r, 10 r + 1, 10 r + 2], of label r.
std::vector<ArrayFile> write_rows(const TempDir& dir, int rows) {
  std::vector<float> x;
  std::vector<int32_t> label;
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < 3; ++c)
      x.push_back(static_cast<float>(10 * r + c));
    label.push_back(r);
  }
  write_npy(dir / "x.npy", std::vector<int64_t>{rows, 3}, DType::f32, bytes_of(x));
  write_npy(dir / "label.npy", std::vector<int64_t>{rows}, DType::i32, bytes_of(label));
  return {{"x", dir / "x.npy"}, {"label", dir / "label.npy"}};
}

const BatchInput x_input{"x", {"batch", "pixel"}, {4, 3}, DType::f32, 0, -1, 0};
const BatchInput label_input{"label", {"batch"}, {4}, DType::i32, 0, -1, -1};

}  // namespace

TEST_CASE("a permutation is a bijection, differs by key, and is no identity") {
  for (int64_t count : {1, 2, 3, 7, 64, 1000, 1437}) {
    std::set<int64_t> seen;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t to = permuted(i, count, 5);
      REQUIRE((to >= 0 && to < count));
      seen.insert(to);
    }
    CHECK(static_cast<int64_t>(seen.size()) == count);
  }
  int64_t fixed = 0, same = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    fixed += permuted(i, 1000, 5) == i;
    same += permuted(i, 1000, 5) == permuted(i, 1000, 6);
  }
  CHECK(fixed < 10);
  CHECK(same < 10);
}

TEST_CASE("random bits have the moments they should") {
  double sum = 0, squares = 0;
  int64_t ones = 0;
  constexpr int n = 100000;
  for (uint64_t i = 0; i < n; ++i) {
    const double v = normal(random_bits({1, 2, i}));
    sum += v;
    squares += v * v;
    ones += below(10, random_bits({3, i})) == 1;
  }
  CHECK(std::abs(sum / n) < 0.02);  // six standard errors
  CHECK(std::abs(squares / n - 1) < 0.03);
  CHECK(std::abs(static_cast<double>(ones) - n / 10.0) < 600);
  CHECK(below(10, ~uint64_t{0}) == 9);
}

TEST_CASE("arrays: each epoch of training sees each row once, in its own order") {
  TempDir dir;
  const auto files = write_rows(dir, 15);  // validation 0.2: 12 rows to train on
  const Dataset d = array_dataset({x_input, label_input}, files, 0.2, 3);
  CHECK(d.batch() == 4);
  CHECK(d.examples(Split::train) == 12);
  CHECK(d.examples(Split::validation) == 3);
  CHECK(d.steps_per_epoch() == 3);
  std::vector<std::vector<int32_t>> epochs;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<int32_t> order;
    for (int64_t step = 3 * epoch; step < 3 * epoch + 3; ++step) {
      const auto labels = read<int32_t>(d, "label", Split::train, step, {{0}, {4}});
      const auto x = read<float>(d, "x", Split::train, step, {{0, 0}, {4, 3}});
      for (size_t i = 0; i < 4; ++i)
        CHECK(x[3 * i + 2] == static_cast<float>(10 * labels[i] + 2));
      order.insert(order.end(), labels.begin(), labels.end());
    }
    const std::set<int32_t> seen(order.begin(), order.end());
    CHECK(seen.size() == 12);
    CHECK(*seen.rbegin() == 11);
    epochs.push_back(order);
  }
  CHECK(epochs[0] != epochs[1]);
}

TEST_CASE("arrays: validation sees the last rows once, in order, and masks the rest") {
  TempDir dir;
  const auto files = write_rows(dir, 25);
  const Dataset d = array_dataset({x_input, label_input}, files, 0.25, 3);  // 6 rows: 19 to 24
  CHECK(d.validation_batches() == 2);
  CHECK(d.valid_examples(Split::validation, 0) == 4);
  CHECK(d.valid_examples(Split::validation, 1) == 2);
  CHECK(d.valid_examples(Split::validation, 2) == 0);
  CHECK(d.valid_examples(Split::train, 100) == 4);
  CHECK(read<int32_t>(d, "label", Split::validation, 0, {{0}, {4}}) ==
        std::vector<int32_t>{19, 20, 21, 22});
  CHECK(read<int32_t>(d, "label", Split::validation, 1, {{0}, {4}}) ==
        std::vector<int32_t>{23, 24, -1, -1});
  CHECK(read<float>(d, "x", Split::validation, 1, {{1, 1}, {2, 2}}) ==
        std::vector<float>{241, 242, 0, 0});
}

TEST_CASE("arrays: any slicing reads the same batch, wherever the batch dim stands") {
  TempDir dir;
  const auto files = write_rows(dir, 9);
  const BatchInput turned{"x", {"pixel", "batch"}, {3, 4}, DType::f64, 1, -1, 0};
  const Dataset d = array_dataset({x_input, label_input}, files, 0, 1);
  const Dataset t = array_dataset({turned, label_input}, files, 0, 1);
  for (int64_t step : {0, 2, 5}) {
    const auto whole = read<float>(d, "x", Split::train, step, {{0, 0}, {4, 3}});
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t p = 0; p < 3; ++p) {
        const float v = whole[static_cast<size_t>(3 * b + p)];
        CHECK(read<float>(d, "x", Split::train, step, {{b, p}, {1, 1}})[0] == v);
        CHECK(read<double>(t, "x", Split::train, step, {{p, b}, {1, 1}})[0] == v);
      }
    const auto pair = read<double>(t, "x", Split::train, step, {{1, 2}, {2, 2}});
    CHECK(pair == std::vector<double>{whole[7], whole[10], whole[8], whole[11]});
  }
}

TEST_CASE("arrays: an input without a batch dim is read whole at every step") {
  TempDir dir;
  write_npy(dir / "k.npy", std::vector<int64_t>{2, 2}, DType::f32,
            bytes_of(std::vector<float>{1, 2, 3, 4}));
  const std::vector<ArrayFile> files{{"k", dir / "k.npy"}};
  const Dataset d = array_dataset({{"k", {"a", "b"}, {2, 2}, DType::f32, -1, -1, 0}}, files, 0, 1);
  CHECK(d.steps_per_epoch() == 0);
  CHECK(read<float>(d, "k", Split::train, 9, {{0, 1}, {2, 1}}) == std::vector<float>{2, 4});
}

TEST_CASE("arrays: what does not fit the model is refused with both sides") {
  TempDir dir;
  auto files = write_rows(dir, 5);
  const auto refused = [&](const BatchInput& input) {
    return failure_of(Exit::bad_input, [&] { array_dataset({input}, files, 0, 1); });
  };
  CHECK(refused({"x", {"batch", "pixel"}, {4, 5}, DType::f32, 0, -1, 0}) ==
        (dir / "x.npy") + ": input 'x' expects [row, pixel=5] of f32, found [5, 3]");
  CHECK(refused({"x", {"batch", "pixel"}, {4, 3}, DType::i32, 0, -1, 0}).find("elements of f4") !=
        std::string::npos);
  write_npy(dir / "label.npy", std::vector<int64_t>{6}, DType::i32,
            bytes_of(std::vector<int32_t>{0, 1, 2, 3, 9, -1}));
  CHECK(failure_of(Exit::bad_input, [&] {
          array_dataset({x_input, label_input}, files, 0, 1);
        }) == (dir / "label.npy") + " has 6 rows, but " + (dir / "x.npy") + " has 5");
  const Dataset d = array_dataset({label_input}, files, 0, 1);
  CHECK(failure_of(Exit::bad_input, [&] { d.check_range("label", 0, 10); }) ==
        (dir / "label.npy") + ": row 5: -1 is not in the range 0 to 9");
  CHECK(failure_of(Exit::bad_input, [&] { d.check_range("label", -1, 9); }).find("row 4: 9") !=
        std::string::npos);
  d.check_range("label", -1, 10);
}

TEST_CASE("synthetic: values follow their rules and no slicing changes them") {
  const BatchInput tokens{"tokens", {"batch", "length"}, {4, 8}, DType::i32, 0, 1, 0};
  const BatchInput targets{"targets", {"batch", "length"}, {4, 8}, DType::i32, 0, 1, 0};
  const BatchInput noise{"noise", {"length", "batch"}, {8, 4}, DType::f32, 1, -1, 0};
  const BatchInput ones{"ones", {"length"}, {8}, DType::bf16, -1, -1, 0};
  const Dataset d = synthetic_dataset(
      {tokens, targets, noise, ones},
      {{"tokens", UniformIntegers{50}}, {"noise", NormalNumbers{0.1}}, {"ones", ConstantNumber{1}}},
      9);
  const Box whole{{0, 0}, {4, 8}};
  const auto t = read<int32_t>(d, "tokens", Split::train, 3, whole);
  const auto next = read<int32_t>(d, "targets", Split::train, 3, whole);
  for (size_t i = 0; i < 32; ++i) {
    CHECK((t[i] >= 0 && t[i] < 50));
    if (i % 8 != 7)
      CHECK(next[i] == t[i + 1]);
    const auto b = static_cast<int64_t>(i / 8), l = static_cast<int64_t>(i % 8);
    CHECK(read<int32_t>(d, "tokens", Split::train, 3, {{b, l}, {1, 1}})[0] == t[i]);
  }
  CHECK(std::set<int32_t>(t.begin(), t.end()).size() > 15);
  CHECK(read<int32_t>(d, "tokens", Split::train, 4, whole) != t);
  const auto n = read<float>(d, "noise", Split::train, 0, {{0, 0}, {8, 4}});
  CHECK(read<float>(d, "noise", Split::train, 0, {{5, 2}, {1, 2}}) ==
        std::vector<float>{n[22], n[23]});
  CHECK(read<uint16_t>(d, "ones", Split::train, 0, {{0}, {8}}) == std::vector<uint16_t>(8, 0x3F80));
  CHECK(d.validation_batches() == 0);
  failure_of(Exit::spec, [&] { d.check_range("tokens", 0, 49); });
  d.check_range("tokens", 0, 50);
  failure_of(Exit::spec, [&] { synthetic_dataset({tokens}, {{"tokens", NormalNumbers{1}}}, 1); });
  failure_of(Exit::spec, [&] { synthetic_dataset({noise}, {{"tokens", NormalNumbers{1}}}, 1); });
}
