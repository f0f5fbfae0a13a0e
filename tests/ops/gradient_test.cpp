// Every row of the table: it builds, its gradients equal central differences in f64, and every op
// has a row.
#include <catch2/catch.hpp>
#include <set>

#include "ops/built_case.h"

using namespace mtf;
using namespace mtf::testing;

namespace {

double value_of_sum(const Built& built) {
  return interpret(built.graph, built.leaves)[static_cast<size_t>(built.sum.index)].data[0];
}

void check_gradient(Built& built, NodeId parameter, NodeId gradient) {
  const Node& node = built.graph[parameter];
  REQUIRE(gradient.index >= 0);
  CHECK(built.graph[gradient].type.dtype == DType::f64);
  const std::vector<Tensor> values = interpret(built.graph, built.leaves);
  const Tensor found =
      transposed(built.graph, values[static_cast<size_t>(gradient.index)], node.type.shape.dims);
  Tensor& x = built.leaves[*node.attrs.get<std::string>("name")];
  const size_t stride = x.data.size() > 24 ? x.data.size() / 12 : 1;  // some of a large tensor
  for (size_t i = 0; i < x.data.size(); i += stride) {
    constexpr double step = 1e-5;
    const double at = x.data[i];
    x.data[i] = at + step;
    const double above = value_of_sum(built);
    x.data[i] = at - step;
    const double below = value_of_sum(built);
    x.data[i] = at;
    INFO("element " << i);
    CHECK(found.data[i] == Approx((above - below) / (2 * step)).epsilon(1e-6).margin(1e-7));
  }
}

}  // namespace

TEST_CASE("gradients equal central differences") {
  for (const Case& c : cases()) {
    INFO(c.name);
    Built built;
    build(c, built);
    for (size_t i = 0; i < built.gradients.size(); ++i)
      check_gradient(built, built.parameters[i], built.gradients[i]);
  }
}

TEST_CASE("every op has a case") {
  std::set<std::string_view> rows, used = {"state", "mask"};  // made by phases; by padding
  for (const Case& c : cases()) {
    rows.insert(c.op);
    Built built;
    build(c, built);
    for (const Node& n : built.graph.nodes)
      used.insert(n.op->name);
    for (const Composite& made : built.graph.composites)
      used.insert(made.op->name);
  }
  for (const OpDef* op : all_ops()) {
    INFO(op->name);
    CHECK((op->internal ? used : rows).count(op->name) == 1);
  }
}

TEST_CASE("every op is described") {
  std::set<std::string_view> names;
  for (const OpDef* op : all_ops()) {
    INFO(op->name);
    CHECK(names.insert(op->name).second);
    CHECK(op->summary.ends_with('.'));
    CHECK((op->infer == nullptr) != (op->build == nullptr));
    CHECK(find_op(op->name) == op);
  }
  CHECK(find_op("no_such_op") == nullptr);
}
