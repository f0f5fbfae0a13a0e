// Every row of the table of op cases with each of its dims padded, and with all: results and
// gradients are those without padding, whatever the padding holds.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "ops/building.h"
#include "ops/built_case.h"

using namespace mtf;
using namespace mtf::testing;

namespace {

std::string messages(const Built& built) {
  std::string all;
  for (const Diagnostic& d : built.diagnostics.all())
    all += d.message + "\n";
  return all;
}

// Outputs and gradients without padding; only results whose dims are the same are compared.
std::vector<Tensor> results(const Built& built) {
  const std::vector<Tensor> values = interpret(built.graph, built.leaves);
  std::vector<Tensor> out;
  std::vector<NodeId> nodes = built.gradients;
  nodes.push_back(built.result);
  for (NodeId n : nodes)
    out.push_back(without_padding(built.graph, values[static_cast<size_t>(n.index)]));
  return out;
}

void check_equal(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t k = 0; k < found.size(); ++k) {
    CHECK(found[k].dims == expected[k].dims);
    REQUIRE(found[k].data.size() == expected[k].data.size());
    for (size_t i = 0; i < found[k].data.size(); ++i)
      CHECK(found[k].data[i] == Approx(expected[k].data[i]).epsilon(1e-12).margin(1e-12));
  }
}

bool uses(const Built& built, DimId d) {
  for (const Node& n : built.graph.nodes)
    if (n.type.shape.has(d))
      return true;
  return false;
}

struct Counts {
  int equal = 0;
  std::set<std::string> refused;
};

void check_case(const Case& c, const std::string& dims, const std::vector<Tensor>& expected,
                Counts& counts) {
  for (double garbage : {0.0, std::nan(""), 1e9, -1e9}) {
    INFO(c.name << " with " << dims << " padded by " << garbage);
    Built built;
    build(c, built, {dims, garbage});
    if (built.result.index >= 0) {
      CHECK(messages(built) == "");
      check_equal(results(built), expected);
      ++counts.equal;
      continue;
    }
    counts.refused.insert(c.op);
    const char* why = c.op == "rename" ? "differ in size" : "elements cannot be moved along";
    CHECK(messages(built).find(why) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("padding changes no result and no gradient of any op") {
  Counts counts;
  for (const Case& c : cases()) {
    if (c.op == "write_slice")
      continue;  // made by decoding alone
    Built plain;
    build(c, plain);
    const std::vector<Tensor> expected = results(plain);
    for (DimId d : dims_of(plain.graph, all_dims))
      if (uses(plain, d))
        check_case(c, plain.graph[d].name, expected, counts);
    check_case(c, all_dims, expected, counts);
  }
  CHECK(counts.equal > 600);
  CHECK(counts.refused ==
        std::set<std::string>{"reshape", "slice", "pad", "concat", "shift", "rename", "rope"});
}

TEST_CASE("a lookup beyond the true size yields 0, as beyond the size") {
  Building t;
  const DimId rows = t.g.add_dim({"rows", 8, {}, {}, 3}), batch = t.dim("batch", 3);
  NodeId table = t.input("table", {rows}), ids = t.input("ids", {batch}, DType::i32);
  NodeId picked = t.b.add("gather", {table, ids}, {{{"over", rows}}});
  CHECK(t.values(picked, {{"table", {1, 2, 3, 4, 5, 6, 7, 8}}, {"ids", {4, 5, 9}}}) ==
        std::vector<double>{5, 0, 0});
}

TEST_CASE("NaN sorts behind all numbers, and padding behind NaN") {
  Building t;
  const DimId d = t.g.add_dim({"d", 6, {}, {}, 3});
  NodeId sorted = t.b.add("sort", {t.input("x", {d})}, {{{"over", d}}});
  const std::vector<double> y = t.values(sorted, {{"x", {std::nan(""), 2, 1, -5, -5, -5}}});
  CHECK(y[0] == 1);
  CHECK(y[1] == 2);
  CHECK(std::isnan(y[2]));
}

TEST_CASE("a value is masked once for all that read it, and not where its padding is known") {
  Building t;
  const DimId d = t.g.add_dim({"d", 8, {}, {}, 3}), e = t.dim("e", 4);
  NodeId x = t.input("x", {d}), w = t.parameter("w", {d, e});
  auto masks = [&] {
    return std::count_if(t.g.nodes.begin(), t.g.nodes.end(),
                         [](const Node& n) { return n.op->name == "mask"; });
  };
  t.b.einsum(x, w, {e});
  CHECK(masks() == 1);  // of x; parameters hold 0
  t.b.einsum(x, t.b.cast(w, DType::f64), {e});
  t.b.add("reduce_sum", {x}, {{{"over", std::vector<DimId>{d}}}});
  CHECK(masks() == 1);
  t.b.add("reduce_max", {x}, {{{"over", std::vector<DimId>{d}}}});
  t.b.add("exp", {x});
  CHECK(masks() == 2);
}

TEST_CASE("means, norms and scales count true sizes") {
  Building t;
  const DimId d = t.g.add_dim({"d", 8, {}, {}, 5});
  NodeId mean = t.b.add("reduce_mean", {t.input("x", {d})}, {{{"over", std::vector<DimId>{d}}}});
  CHECK(t.values(mean, {{"x", {1, 2, 6, 9, 9, 9, 9, 9}}}) == std::vector<double>{3});
}

TEST_CASE("a reshape may leave padded dims at either end alone") {
  Building t;
  const DimId batch = t.g.add_dim({"batch", 4, {}, {}, 1}), a = t.dim("a", 6), b = t.dim("b", 2),
              c = t.dim("c", 3);
  NodeId x = t.input("x", {batch, a});
  using Dims = std::vector<DimId>;
  NodeId y = t.b.add("reshape", {x}, {{{"to", Dims{batch, b, c}}}});
  CHECK(t.shown(y) == "[batch=3+1, b=2, c=3]");
  CHECK(t.b.add("reshape", {x}, {{{"to", Dims{b, c, batch}}}}).index < 0);
  CHECK(t.message() ==
        "reshape: elements cannot be moved along batch=3+1, of which 1 are padding; leave out the "
        "`pad:` of 'batch'");
}
