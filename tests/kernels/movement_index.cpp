// gather and scatter_add against naive loops over named indices.
#include <optional>

#include "movement_tensor.h"

namespace mtf::test {
namespace {

enum { b, l, v, d, h, b_blocks, l_blocks };

KernelCall gather_call() {
  KernelCall call;
  call.kernel = "gather";
  call.attrs.set("over", DimId{v});
  return call;
}

struct Case {
  std::vector<int> x, ids;
};

std::vector<int> result_dims(const Case& c) {
  std::vector<int> dims = c.ids;
  for (int dim : c.x)
    if (dim != v && std::find(dims.begin(), dims.end(), dim) == dims.end())
      dims.push_back(dim);
  return dims;
}

const std::vector<Case> cases = {{{v, d}, {b, l}},       {{b, l, v}, {b, l}}, {{b, v}, {b, l}},
                                 {{v, d, h}, {b, l}},    {{v}, {b, l}},       {{v, d}, {}},
                                 {{b, v, d, h}, {l, b}}, {{d, v}, {v}}};

TEST_CASE("gather copies the row that each id names") {
  Random random(1);
  for (int trial = 0; trial < 120; ++trial) {
    const Case& c = cases[trial % cases.size()];
    Sizes sizes{};
    for (int64_t& s : sizes)
      s = 1 + random.below(7);
    const DType type = std::array{DType::f32, DType::bf16, DType::f64, DType::i32}[trial % 4];
    Tensor x(type, random.shuffled(c.x), sizes), ids(DType::i32, random.shuffled(c.ids), sizes);
    x.fill([&](const Index&) { return random.value(); });
    ids.fill([&](const Index&) { return random.below(sizes[v]); });
    Tensor y(type, random.shuffled(result_dims(c)), sizes);
    run(prepare_gather, gather_call(), {&x, &ids}, y);
    CHECK(differs(y, [&](Index i) {
            i[v] = static_cast<int64_t>(ids.get(i));
            return x.get(i);
          }) == "");
  }
}

TEST_CASE("gather of the parts of a table adds up to the lookup, bit for bit") {
  Random random(2);
  const Sizes sizes{5, 40, 12, 33};
  Tensor x(DType::f32, {v, d}, sizes), ids(DType::i32, {l, b}, sizes);
  x.fill([&](const Index&) { return random.value(); });
  ids.fill([&](const Index&) { return random.below(sizes[v]); });
  std::vector<Tensor> parts;
  for (int part = 0; part < 3; ++part) {
    const Tensor shard = x.shard(v, 4 * part, 4);
    parts.emplace_back(DType::f32, std::vector<int>{b, l, d}, sizes);
    run(prepare_gather, gather_call(), {&shard, &ids}, parts.back());
  }
  for (int64_t part = 0; part < 3; ++part)
    CHECK(differs(parts[part], [&](Index i) {
            i[v] = static_cast<int64_t>(ids.get(i));
            return i[v] / 4 == part ? x.get(i) : -0.0;
          }) == "");
  Tensor sum(DType::f32, {b, l, d}, sizes);
  sum.fill([&](const Index& i) { return parts[0].get(i) + parts[1].get(i) + parts[2].get(i); });
  CHECK(differs(sum, [&](Index i) {
          i[v] = static_cast<int64_t>(ids.get(i));
          return x.get(i);
        }) == "");
}

// ---- scatter_add ----

// The sum of one result element, straight from the definition; nullopt: absent.
class Oracle {
 public:
  Oracle(const Tensor& ids, const Tensor& dy, const KernelCall& call, const Sizes& sizes)
      : ids_(ids), dy_(dy), reduced_(call.terms[0].reduced), sizes_(sizes) {}

  double operator()(const Index& result) const {
    std::vector<int64_t> block;
    const auto sum = tree(result, block);
    return sum ? *sum : -0.0;
  }

 private:
  using Sum = std::optional<double>;
  double rounded(double x) const {
    return dy_.view.dtype == DType::f64 ? x : static_cast<float>(x);
  }
  Sum add(Sum a, Sum c) const {
    if (!a || !c)
      return a ? a : c;
    return rounded(*a + *c);
  }

  Sum tree(const Index& result, std::vector<int64_t>& block) const {
    if (block.size() == reduced_.size())
      return leaf(result, block);
    const Reduced& r = reduced_[block.size()];
    if (r.kept.index >= 0) {
      block.push_back(result[r.kept.index]);
      const Sum sum = tree(result, block);
      block.pop_back();
      return sum;
    }
    std::vector<Sum> level;
    for (int64_t i = 0; i < r.blocks; ++i) {
      block.push_back(i);
      level.push_back(tree(result, block));
      block.pop_back();
    }
    while (level.size() > 1) {
      if (level.size() % 2 == 1)
        level.push_back({});
      for (size_t i = 0; i < level.size() / 2; ++i)
        level[i] = add(level[2 * i], level[2 * i + 1]);
      level.resize(level.size() / 2);
    }
    return level[0];
  }

  Sum leaf(const Index& result, const std::vector<int64_t>& block) const {
    std::vector<std::optional<double>> terms(1);  // by position in the block
    std::vector<Index> at{result};
    for (size_t k = 0; k < reduced_.size(); ++k) {
      const int64_t length = sizes_[reduced_[k].dim.index] / reduced_[k].blocks;
      std::vector<Index> longer;
      for (Index i : at)
        for (int64_t j = 0; j < length; ++j) {
          i[reduced_[k].dim.index] = block[k] * length + j;
          longer.push_back(i);
        }
      at = longer;
    }
    terms.clear();
    for (const Index& i : at)
      terms.push_back(ids_.get(i) == static_cast<double>(result[v]) ? Sum(dy_.get(i)) : Sum());
    return chain(terms);
  }

  Sum chain(std::span<const Sum> terms) const {
    if (terms.size() > 256) {
      const size_t half = (terms.size() + 1) / 2;
      return add(chain(terms.first(half)), chain(terms.subspan(half)));
    }
    Sum sum;
    for (const Sum& term : terms)
      if (term)
        sum = rounded((sum ? *sum : 0.0) + *term);
    return sum;
  }

  const Tensor &ids_, &dy_;
  std::vector<Reduced> reduced_;
  Sizes sizes_;
};

KernelCall scatter_call(std::vector<Reduced> reduced) {
  KernelCall call;
  call.kernel = "scatter_add";
  call.attrs.set("to", DimId{v});
  call.terms = {{0, 1, std::move(reduced)}};
  return call;
}

struct Scatter {
  std::vector<int> ids, dy, y;
  std::vector<Reduced> reduced;
  Sizes sizes;
};

const std::vector<Scatter> scatters = {
    // an embedding, all blocks folded here; 3 blocks are padded to 4
    {{b, l}, {b, l, d}, {v, d}, {{{b}, 3, {}}, {{l}, 4, {}}}, {6, 20, 11, 5}},
    // the outer block dim kept, for a split batch
    {{b, l},
     {b, l, d},
     {b_blocks, v, d},
     {{{b}, 3, {b_blocks}}, {{l}, 2, {}}},
     {6, 10, 7, 5, 1, 3}},
    {{b, l},
     {b, l, d},
     {b_blocks, l_blocks, v, d},
     {{{b}, 2, {b_blocks}}, {{l}, 5, {l_blocks}}},
     {4, 10, 7, 5, 1, 2, 5}},
    // l is major; a leaf of 2 * 301 positions is halved inside itself
    {{b, l}, {b, l}, {v}, {{{l}, 1, {}}, {{b}, 1, {}}}, {2, 301, 3}},
    // a batch dim shared by ids and the result
    {{b, l}, {b, l, d}, {b, v, d}, {{{l}, 4, {}}}, {3, 12, 6, 4}},
    // picks: nothing is summed
    {{b, l}, {b, l}, {b, l, v}, {}, {3, 4, 6}},
    // dims of dy alone, two of them; more columns than a piece
    {{b, l}, {b, h, l, d}, {h, v, d}, {{{b}, 2, {}}, {{l}, 3, {}}}, {4, 9, 5, 600, 3}},
    // a summed dim that ids lack, and one that dy lacks
    {{l}, {b, d}, {v, d}, {{{b}, 2, {}}, {{l}, 2, {}}}, {4, 6, 5, 3}},
};

TEST_CASE("scatter_add sums as the definition says, bit for bit") {
  Random random(3);
  for (int trial = 0; trial < 96; ++trial) {
    const Scatter& s = scatters[trial % scatters.size()];
    const bool twice = trial % 5 == 4;
    const DType in = twice ? DType::f64 : trial % 3 == 0 ? DType::bf16 : DType::f32;
    const DType out = twice ? DType::f64 : DType::f32;
    Tensor ids(DType::i32, random.shuffled(s.ids), s.sizes);
    Tensor dy(in, random.shuffled(s.dy), s.sizes), y(out, random.shuffled(s.y), s.sizes);
    const int64_t used = 1 + random.below(s.sizes[v]);  // others are absent everywhere
    ids.fill([&](const Index&) { return random.below(used); });
    dy.fill([&](const Index&) { return random.value(); });
    const KernelCall call = scatter_call(s.reduced);
    const Oracle oracle(ids, dy, call, s.sizes);
    run(prepare_scatter_add, call, {&ids, &dy}, y);
    INFO("case " << trial % scatters.size());
    REQUIRE(differs(y, oracle) == "");
    Tensor in_passes(out, random.shuffled(s.y), s.sizes);  // scratch of 1 or 3 threads: 128 B each
    run(prepare_scatter_add, call, {&ids, &dy}, in_passes, 128);
    REQUIRE(differs(in_passes, oracle) == "");
    if (s.sizes[v] < 4)
      continue;
    Tensor shard = y.shard(v, 2, s.sizes[v] - 3);
    run(prepare_scatter_add, call, {&ids, &dy}, shard);
    REQUIRE(differs(shard, oracle) == "");
  }
}

TEST_CASE("scatter_add of batch shards that keep their blocks equals the unsplit sum") {
  Random random(4);
  const Sizes sizes{8, 32, 50, 16, 1, 4};
  Tensor ids(DType::i32, {b, l}, sizes), dy(DType::f32, {b, l, d}, sizes);
  ids.fill([&](const Index&) { return random.below(40); });
  dy.fill([&](const Index&) { return random.value(); });
  Tensor whole(DType::f32, {v, d}, sizes), kept(DType::f32, {b_blocks, v, d}, sizes);
  run(prepare_scatter_add, scatter_call({{{b}, 4, {}}, {{l}, 2, {}}}), {&ids, &dy}, whole);
  for (int64_t rank = 0; rank < 2; ++rank) {
    const Tensor my_ids = ids.shard(b, 4 * rank, 4), my_dy = dy.shard(b, 4 * rank, 4);
    Tensor mine = kept.shard(b_blocks, 2 * rank, 2);
    run(prepare_scatter_add, scatter_call({{{b}, 2, {b_blocks}}, {{l}, 2, {}}}), {&my_ids, &my_dy},
        mine);
    mine.each([&](const Index& i) { kept.set(i, mine.get(i)); });
  }
  CHECK(differs(whole, [&](Index i) {
          float block[4];
          for (i[b_blocks] = 0; i[b_blocks] < 4; ++i[b_blocks])
            block[i[b_blocks]] = static_cast<float>(kept.get(i));
          return (block[0] + block[1]) + (block[2] + block[3]);
        }) == "");
}

}  // namespace
}  // namespace mtf::test
