// Every row of the table: it builds, its gradients equal central differences in f64, and every op
// has a row.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <set>

#include "ops/autodiff.h"
#include "ops/cases.h"
#include "ops/interpreter.h"

using namespace mtf;
using namespace mtf::testing;

namespace {

struct Built {  // one case: sum(weights * result) and its gradients
  Graph graph;
  Numerics numerics;
  Diagnostics diagnostics;
  std::map<std::string, Tensor> leaves;
  std::vector<NodeId> parameters, gradients;
  NodeId result, sum;
};

double draw(Kind kind, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> range(0.5, 2);
  switch (kind) {
    case Kind::real: return normal(random);
    case Kind::positive:
    case Kind::simplex: return range(random);
    case Kind::ids: return static_cast<double>(random() % 3);
    case Kind::labels: return static_cast<double>(random() % 4) - 1;
    case Kind::truth: return static_cast<double>(random() % 2);
    case Kind::scalar_id: return 1;
  }
  return 0;
}

DType dtype_of(Kind kind) {
  if (kind == Kind::ids || kind == Kind::labels || kind == Kind::scalar_id)
    return DType::i32;
  return kind == Kind::truth ? DType::boolean : DType::f64;
}

Tensor random_tensor(const Graph& g, const std::vector<DimId>& dims, Kind kind,
                     std::mt19937& random) {
  Tensor x{dims, {}};
  for (int64_t n = g.elements({dims}); n > 0; --n)
    x.data.push_back(draw(kind, random));
  if (kind != Kind::simplex)
    return x;
  const auto row = static_cast<size_t>(g[dims.back()].size);
  for (size_t i = 0; i < x.data.size(); i += row) {
    double sum = 0;
    for (size_t j = 0; j < row; ++j)
      sum += x.data[i + j];
    for (size_t j = 0; j < row; ++j)
      x.data[i + j] /= sum;
  }
  return x;
}

void build(const Case& c, Built& out) {
  std::mt19937 random(7);
  add_dims(out.graph);
  out.numerics.compute = DType::f64;
  Builder b(out.graph, out.numerics, out.diagnostics);
  b.origin.scope = c.name;
  std::vector<NodeId> operands;
  for (const Operand& o : c.operands) {
    const std::string name = "x" + std::to_string(operands.size());
    const std::vector<DimId> dims = dims_of(out.graph, o.dims);
    const bool trained = o.kind == Kind::real || o.kind == Kind::positive;
    operands.push_back(b.leaf(trained ? "parameter" : "input", name, {{dims}, dtype_of(o.kind)}));
    if (trained)
      out.parameters.push_back(operands.back());
    out.leaves[name] = random_tensor(out.graph, dims, o.kind, random);
  }
  out.result = b.add(*find_op(c.op), operands, c.attributes ? c.attributes(out.graph) : Attrs{});
  for (const Diagnostic& d : out.diagnostics.all())
    FAIL_CHECK(d.message);
  REQUIRE(out.result.index >= 0);
  if (!c.differentiable)
    return;
  const std::vector<DimId> dims = b.shape(out.result).dims;
  NodeId weights = b.leaf("input", "weights", {{dims}, DType::f64});
  out.leaves["weights"] = random_tensor(out.graph, dims, Kind::real, random);
  out.sum = b.reduce_sum(b.add("multiply", {out.result, weights}), dims);
  out.gradients = differentiate(b, out.sum, out.parameters);
}

double value_of_sum(const Built& built) {
  return interpret(built.graph, built.leaves)[static_cast<size_t>(built.sum.index)].data[0];
}

void check_gradient(Built& built, NodeId parameter, NodeId gradient) {
  const Node& node = built.graph[parameter];
  REQUIRE(gradient.index >= 0);
  CHECK(built.graph[gradient].type.dtype == DType::f64);
  const std::vector<Tensor> values = interpret(built.graph, built.leaves);
  const Tensor found = transposed(built.graph, values[static_cast<size_t>(gradient.index)],
                                  node.type.shape.dims);
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
  std::set<std::string_view> rows, used = {"state"};
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
