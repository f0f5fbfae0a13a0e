#include "ops/built_case.h"

#include <catch2/catch.hpp>
#include <random>

#include "ops/autodiff.h"

namespace mtf::testing {
namespace {

double draw(Kind kind, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> range(0.5, 2);
  switch (kind) {
    case Kind::real:
      return normal(random);
    case Kind::positive:
    case Kind::simplex:
      return range(random);
    case Kind::ids:
      return static_cast<double>(random() % 3);
    case Kind::labels:
      return static_cast<double>(random() % 4) - 1;
    case Kind::truth:
      return static_cast<double>(random() % 2);
    case Kind::scalar_id:
      return 1;
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

}  // namespace

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

}  // namespace mtf::testing
