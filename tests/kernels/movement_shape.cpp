// copy, slice, pad, concat, shift, write_slice and iota against naive loops; shards equal the
// slices of the whole result.
#include "movement_tensor.h"

namespace mtf::test {
namespace {

enum { a, b, c, d, e, f, joined };

constexpr DType types[] = {DType::f32, DType::bf16, DType::f64, DType::i32, DType::u8};

Tensor random_tensor(Random& random, DType type, const std::vector<int>& dims, const Sizes& sizes) {
  Tensor x(type, random.shuffled(dims), sizes);
  x.fill([&](const Index&) { return type == DType::u8 ? random.below(256) : random.value(); });
  return x;
}

Tensor scalar(double value) {
  Tensor x(DType::i32, {}, {});
  x.set({}, value);
  return x;
}

// Runs the call for the whole result and for each of its two halves along `dim`.
template <class F>
void check(Prepare prepare, const KernelCall& call, const std::vector<const Tensor*>& inputs,
           Tensor y, int dim, const F& expected) {
  run(prepare, call, inputs, y);
  CHECK(differs(y, expected) == "");
  const int64_t size = side_of(y.view, {dim}).size, half = size / 2;
  for (Tensor shard : {y.shard(dim, 0, half), y.shard(dim, half, size - half)}) {
    std::fill(shard.bytes.begin(), shard.bytes.end(), std::byte{0x77});
    run(prepare, call, inputs, shard);
    CHECK(differs(shard, expected) == "");
  }
}

// Row-major position of an index over dims in logical order.
int64_t flat(const Index& i, const std::vector<int>& dims, const Sizes& sizes) {
  int64_t at = 0;
  for (int dim : dims)
    at = at * sizes[dim] + i[dim];
  return at;
}

TEST_CASE("copy reshapes and transposes in logical order") {
  struct Case {
    std::vector<int> from, to;
    Sizes sizes;
  };
  const std::vector<Case> cases = {
      {{a, b, c}, {a, b, c}, {5, 37, 70}},     // transposition in tiles
      {{a, b}, {c, d}, {6, 4, 4, 6}},          // no common refinement
      {{a, b, c}, {d, c}, {6, 4, 5, 24}},      // merge
      {{a, c}, {d, e, c}, {12, 0, 7, 3, 4}},   // split
      {{a, b}, {c, d, e}, {8, 6, 4, 4, 3}},    // merge and split
      {{a}, {b, c, d}, {60, 5, 1, 12}},        // a dim of one
      {{a, b, c}, {d, e}, {1, 9, 10, 15, 6}},  // 9 and 15 share no refinement
      {{}, {}, {}},
      {{a, b}, {a, b}, {200, 90000 / 200}},
  };
  Random random(1);
  for (int trial = 0; trial < 90; ++trial) {
    const Case& it = cases[trial % cases.size()];
    const DType type = types[trial % 5];
    const Tensor x = random_tensor(random, type, it.from, it.sizes);
    std::vector<double> values;  // in logical order
    Tensor logical(type, it.from, it.sizes);
    logical.each([&](const Index& i) { values.push_back(x.get(i)); });
    KernelCall call;
    call.kernel = "copy";
    call.attrs.set("from", ids_of(it.from));
    call.attrs.set("to", ids_of(it.to));
    Tensor y(type, random.shuffled(it.to), it.sizes);
    run(prepare_copy, call, {&x}, y);
    CHECK(differs(y, [&](const Index& i) { return values[flat(i, it.to, it.sizes)]; }) == "");
  }
}

TEST_CASE("slice takes rows from a start known early or late") {
  Random random(2);
  for (int trial = 0; trial < 40; ++trial) {
    const Sizes sizes{3, 10, 5, 4};
    const DType type = types[trial % 5];
    const Tensor x = random_tensor(random, type, {a, b, c}, sizes);
    const int64_t start = random.below(7), more = random.below(14) - 7;
    const bool late = trial % 2 == 0;
    KernelCall call;
    call.kernel = "slice";
    call.attrs.set("over", DimId{b});
    call.attrs.set("to", DimId{d});
    call.attrs.set("start", start);
    const Tensor at = scalar(static_cast<double>(more));
    const int64_t first = late ? std::clamp<int64_t>(start + more, 0, 6) : start;
    std::vector<const Tensor*> inputs{&x};
    if (late)
      inputs.push_back(&at);
    check(prepare_slice, call, inputs, Tensor(type, random.shuffled({a, c, d}), sizes), d,
          [&](Index i) {
            i[b] = i[d] + first;
            return x.get(i);
          });
  }
}

TEST_CASE("pad surrounds with zeros") {
  Random random(3);
  for (int trial = 0; trial < 40; ++trial) {
    const Sizes sizes{3, 6, 5, 11};
    const DType type = types[trial % 5];
    const Tensor x = random_tensor(random, type, {a, b, c}, sizes);
    const int64_t before = random.below(6);
    KernelCall call;
    call.kernel = "pad";
    call.attrs.set("over", DimId{b});
    call.attrs.set("to", DimId{d});
    call.attrs.set("before", before);
    check(prepare_pad, call, {&x}, Tensor(type, random.shuffled({a, c, d}), sizes), d,
          [&](Index i) {
            i[b] = i[d] - before;
            return i[b] >= 0 && i[b] < 6 ? x.get(i) : 0.0;
          });
  }
}

TEST_CASE("concat joins dims of different names") {
  Random random(4);
  for (int trial = 0; trial < 40; ++trial) {
    const Sizes sizes{3, 4, 5, 1, 6, 0, 10};
    const DType type = types[trial % 5];
    const Tensor x = random_tensor(random, type, {a, b, e}, sizes);
    const Tensor y = random_tensor(random, type, {a, c, e}, sizes);
    const Tensor z = random_tensor(random, type, {a, d, e}, sizes);
    KernelCall call;
    call.kernel = "concat";
    call.attrs.set("over", ids_of({b, c, d}));
    call.attrs.set("to", DimId{joined});
    check(prepare_concat, call, {&x, &y, &z}, Tensor(type, random.shuffled({joined, a, e}), sizes),
          joined, [&](Index i) {
            i[b] = i[joined];
            i[c] = i[joined] - 4;
            i[d] = i[joined] - 9;
            return i[joined] < 4 ? x.get(i) : i[joined] < 9 ? y.get(i) : z.get(i);
          });
  }
}

TEST_CASE("shift moves rows and brings in zeros or the other end") {
  Random random(5);
  for (int trial = 0; trial < 60; ++trial) {
    const Sizes sizes{3, 7, 5};
    const DType type = types[trial % 5];
    const Tensor x = random_tensor(random, type, {a, b, c}, sizes);
    const int64_t offset = random.below(21) - 10;
    const bool wrap = trial % 2 == 0;
    KernelCall call;
    call.kernel = "shift";
    call.attrs.set("over", DimId{b});
    call.attrs.set("offset", offset);
    call.attrs.set("wrap", wrap);
    check(prepare_shift, call, {&x}, Tensor(type, random.shuffled({a, b, c}), sizes), b,
          [&](Index i) {
            i[b] -= offset;
            if (wrap)
              i[b] = ((i[b] % 7) + 7) % 7;
            return i[b] >= 0 && i[b] < 7 ? x.get(i) : 0.0;
          });
  }
}

TEST_CASE("write_slice replaces rows at a position, and leaves the others in place") {
  Random random(6);
  for (int trial = 0; trial < 60; ++trial) {
    const Sizes sizes{3, 9, 5, 4};
    const DType type = types[trial % 5];
    const Tensor old = random_tensor(random, type, {a, b, c}, sizes);
    const Tensor update = random_tensor(random, type, {a, d, c}, sizes);
    const int64_t position = random.below(14) - 3, rows = trial % 2 ? 4 : random.below(6);
    const Tensor at = scalar(double(position)), count = scalar(double(rows));
    KernelCall call;
    call.kernel = "write_slice";
    call.attrs.set("over", DimId{b});
    call.attrs.set("from", DimId{d});
    std::vector<const Tensor*> inputs{&old, &update, &at};
    if (trial % 2 == 0)
      inputs.push_back(&count);
    const auto expected = [&](Index i) {
      i[d] = i[b] - position;
      return i[d] >= 0 && i[d] < std::min<int64_t>(rows, 4) ? update.get(i) : old.get(i);
    };
    Tensor y(type, random.shuffled({a, b, c}), sizes);
    run(prepare_write_slice, call, inputs, y);
    CHECK(differs(y, expected) == "");

    Tensor in_place = old.shard(b, 3, 4);  // a shard of the cache, overwritten
    call.inputs = {in_place.view, update.view, at.view, count.view};
    call.inputs.resize(inputs.size());
    call.results = {in_place.view};
    run_on(prepare_write_slice(call), 1, {&in_place, &update, &at, &count}, in_place.bytes.data(),
           64);
    CHECK(differs(in_place, expected) == "");
  }
}

TEST_CASE("iota is the global index") {
  const Sizes sizes{4, 30, 5};
  KernelCall call;
  call.kernel = "iota";
  call.attrs.set("over", DimId{b});
  for (DType type : {DType::i32, DType::f32})
    for (const std::vector<int>& dims : {std::vector<int>{b}, {a, b}, {b, c}, {a, b, c}})
      check(prepare_iota, call, {}, Tensor(type, dims, sizes), b,
            [](const Index& i) { return static_cast<double>(i[b]); });
}

}  // namespace
}  // namespace mtf::test
