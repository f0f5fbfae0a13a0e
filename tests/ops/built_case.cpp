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
  for (int64_t n = g.true_elements({dims}); n > 0; --n)
    x.data.push_back(draw(kind, random));
  if (kind != Kind::simplex)
    return x;
  const auto row = static_cast<size_t>(g[dims.back()].true_size());
  for (size_t i = 0; i < x.data.size(); i += row) {
    double sum = 0;
    for (size_t j = 0; j < row; ++j)
      sum += x.data[i + j];
    for (size_t j = 0; j < row; ++j)
      x.data[i + j] /= sum;
  }
  return x;
}

// Row-major over dims: is the element one of true indices alone?
std::vector<char> is_true(const Graph& g, const std::vector<DimId>& dims) {
  std::vector<char> outer = {1};
  for (DimId d : dims) {
    std::vector<char> inner;
    for (char there : outer)
      for (int64_t i = 0; i < g[d].size; ++i)
        inner.push_back(there && i < g[d].true_size());
    outer = std::move(inner);
  }
  return outer;
}

}  // namespace

Tensor without_padding(const Graph& g, const Tensor& x) {
  Tensor y{x.dims, {}};
  const std::vector<char> there = is_true(g, x.dims);
  for (size_t i = 0; i < there.size(); ++i)
    if (there[i])
      y.data.push_back(x.data[i]);
  return y;
}

Tensor with_padding(const Graph& g, const Tensor& x, double fill) {
  Tensor y{x.dims, {}};
  size_t next = 0;
  for (char there : is_true(g, x.dims))
    y.data.push_back(there ? x.data[next++] : fill);
  return y;
}

void build(const Case& c, Built& out, const Padding& padding) {
  std::mt19937 random(7);
  add_dims(out.graph);
  for (DimId d : dims_of(out.graph, padding.dims)) {
    Dim& dim = out.graph.dims[static_cast<size_t>(d.index)];
    dim.padding = dim.size;
    dim.size *= 2;
  }
  auto leaf = [&](const std::string& name, const std::vector<DimId>& dims, Kind kind) {
    const bool number = is_float(dtype_of(kind));
    out.leaves[name] = with_padding(out.graph, random_tensor(out.graph, dims, kind, random),
                                    number ? padding.garbage : padding.garbage >= 0);
  };
  out.numerics.compute = DType::f64;
  Builder b(out.graph, out.numerics, out.diagnostics);
  b.origin.scope = c.name;
  std::vector<NodeId> operands;
  for (const Operand& o : c.operands) {
    const std::string name = "x" + std::to_string(operands.size());
    const std::vector<DimId> dims = dims_of(out.graph, o.dims);
    const bool trained = o.kind == Kind::real || o.kind == Kind::positive;
    const bool parameter = trained && padding.garbage == 0;
    operands.push_back(b.leaf(parameter ? "parameter" : "input", name, {{dims}, dtype_of(o.kind)}));
    if (trained)
      out.parameters.push_back(operands.back());
    leaf(name, dims, o.kind);
  }
  out.result = b.add(*find_op(c.op), operands, c.attributes ? c.attributes(out.graph) : Attrs{});
  if (padding.dims.empty()) {
    for (const Diagnostic& d : out.diagnostics.all())
      FAIL_CHECK(d.message);
    REQUIRE(out.result.index >= 0);
  }
  if (!c.differentiable || out.result.index < 0)
    return;
  const std::vector<DimId> dims = b.shape(out.result).dims;
  NodeId weights = b.leaf("input", "weights", {{dims}, DType::f64});
  leaf("weights", dims, Kind::real);
  out.sum = b.reduce_sum(b.add("multiply", {out.result, weights}), dims);
  out.gradients = differentiate(b, out.sum, out.parameters);
}

}  // namespace mtf::testing
