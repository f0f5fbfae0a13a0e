// Names that stand for one value, and who reads it.
#include <catch2/catch.hpp>

#include "ops/builder.h"
#include "plan/names.h"

namespace mtf {
namespace {

struct Fixture {
  Graph graph;
  Numerics numerics;
  Diagnostics diagnostics;
  Builder b{graph, numerics, diagnostics};
  DimId i = graph.add_dim({"i", 4, "i", {}}), j = graph.add_dim({"j", 4, "j", {}}),
        k = graph.add_dim({"k", 4, "k", {}});

  void output(NodeId node) { graph.outputs.push_back({"out", node}); }
};

TEST_CASE_METHOD(Fixture, "a chain of renames stands for its base under the last names") {
  const NodeId x = b.leaf("input", "x", {{{i, j}}, DType::f32});
  const NodeId t = b.add("tanh", {x});
  const NodeId once = b.add("rename", {t}, {{{"dims", DimPairs{{j, k}}}}});
  const NodeId twice = b.add("rename", {once}, {{{"dims", DimPairs{{i, j}}}}});
  const NodeId turned = b.add("transpose", {twice}, {{{"to", std::vector<DimId>{k, j}}}});
  output(b.add("exp", {turned}));
  const Names names(graph);
  CHECK(names.of(t).renamed.empty());
  CHECK(names.of(turned).base == t);
  CHECK(names.of(turned).from_base(i) == j);
  CHECK(names.of(turned).from_base(j) == k);
  CHECK(names.of(turned).to_base(k) == j);
  CHECK(names.of(turned).to_base(j) == i);
}

TEST_CASE_METHOD(Fixture, "names given back leave nothing to rename") {
  const NodeId x = b.leaf("input", "x", {{{i}}, DType::f32});
  const NodeId t = b.add("tanh", {x});
  const NodeId there = b.add("rename", {t}, {{{"dims", DimPairs{{i, k}}}}});
  const NodeId back = b.add("rename", {there}, {{{"dims", DimPairs{{k, i}}}}});
  output(b.add("exp", {back}));
  CHECK(Names(graph).of(back).renamed.empty());
}

TEST_CASE_METHOD(Fixture, "readers are counted by base and once each") {
  const NodeId x = b.leaf("input", "x", {{{i, j}}, DType::f32});
  const NodeId t = b.add("tanh", {x});
  const NodeId renamed = b.add("rename", {t}, {{{"dims", DimPairs{{j, k}}}}});
  const NodeId square = b.add("multiply", {t, t});
  const NodeId other = b.add("exp", {renamed});
  b.add("sin", {t});  // no output needs it
  graph.outputs = {{"a", square}, {"b", other}};
  const Names names(graph);
  CHECK(names.readers(t) == 2);
  CHECK(names.readers(x) == 1);
  CHECK(names.readers(square) == 0);
  CHECK(names.is_output(square));
  CHECK_FALSE(names.is_output(t));
  CHECK_FALSE(names.needed({static_cast<int32_t>(graph.nodes.size()) - 1}));
}

TEST_CASE_METHOD(Fixture, "what is made of indices, constants and scalars alone is generated") {
  const NodeId x = b.leaf("input", "x", {{{i}}, DType::f32});
  const NodeId rate = b.leaf("input", "rate", {{}, DType::f32});
  const NodeId index = b.add("iota", {}, {{{"over", i}}});
  const NodeId wave = b.add("multiply", {b.add("cast", {index}, {{{"dtype", DType::f32}}}), rate});
  const NodeId sum = b.reduce_sum(wave, {i});
  const NodeId mixed = b.add("multiply", {wave, x});
  graph.outputs = {{"a", sum}, {"b", mixed}};
  const Names names(graph);
  CHECK(names.generated(rate));
  CHECK(names.generated(index));
  CHECK(names.generated(wave));
  CHECK_FALSE(names.generated(sum));  // a sum is work
  CHECK_FALSE(names.generated(x));
  CHECK_FALSE(names.generated(mixed));
}

}  // namespace
}  // namespace mtf
