// One step of each optimizer on numbers, against the formulas written out for one element.
#include <catch2/catch.hpp>
#include <cmath>

#include "building.h"
#include "ops/interpreter.h"

using namespace mtf;
using mtf::testing::Tensor;

namespace {

const std::vector<double> w = {0.5, -1.25, 2.0}, u = {-0.75, 0.25, 1.5};
const std::vector<double> gw = {3.0, -6.0, 1.5}, gu = {12.0, 0.75, -9.0};  // of the loss's sum
constexpr double count = 6, rate = 0.125;

Built two_vectors(const std::string& train) {
  return build_text(R"(mtf: 1
name: t
dims: {batch: 2, d: 3}
mesh: {}
numerics: {compute: f64}
model:
  inputs: {x: {dims: [batch, d]}, t: {dims: [batch, d]}}
  params: {w: [d], u: [d]}
  steps:
    - a: {multiply: [x, w]}
    - y: {add: [a, u]}
    - loss: {mean_squared_error: [y, t]}
  loss: loss
data: {synthetic: {x: {normal: 1.0}, t: {normal: 1.0}}}
train: {steps: 1, )" +
                    train + "}\n");
}

using Leaves = std::map<std::string, Tensor>;

std::map<std::string, std::vector<double>> outputs(const Graph& g, Leaves leaves) {
  for (const std::vector<Named>* list : {&g.inputs, &g.parameters, &g.states})
    for (const Named& n : *list)
      leaves[n.name].dims = g[n.node].type.shape.dims;
  std::vector<Tensor> values = mtf::testing::interpret(g, leaves);
  std::map<std::string, std::vector<double>> out;
  for (const Named& n : g.outputs)
    out[n.name] = values[static_cast<size_t>(n.node.index)].data;
  return out;
}

// The update of the spec with gradients gw, gu and the given state.
std::map<std::string, std::vector<double>> step(const std::string& train, Leaves state = {}) {
  Built b = two_vectors(train);
  std::optional<Graph> g = accumulate_graph(b.spec, b.sources, b.numerics, b.diagnostics);
  INFO(b.text());
  REQUIRE(g);
  Graph update = update_graph(*g, *b.spec.train, b.numerics);
  state["w"].data = w;
  state["u"].data = u;
  state["gradient:w"].data = gw;
  state["gradient:u"].data = gu;
  state["driver:loss_count"].data = {count};
  state["driver:lr"].data = {rate};
  return outputs(update, state);
}

void check_each(const std::vector<double>& got, const std::function<double(size_t)>& expected) {
  REQUIRE(got.size() == 3);
  for (size_t i = 0; i < 3; ++i)
    CHECK(got[i] == Approx(expected(i)).epsilon(1e-14));
}

}  // namespace

TEST_CASE("sgd") {
  auto out = step("optimizer: {sgd: {learning_rate: 0.125}}");
  CHECK(out.size() == 2);
  CHECK(out["parameter:w"] == std::vector<double>{0.4375, -1.125, 1.96875});  // w - gw / 48
  check_each(out["parameter:u"], [](size_t i) { return u[i] - rate * gu[i] / count; });
}

TEST_CASE("momentum keeps u = momentum * u + g") {
  Leaves state;
  state["w/u"].data = {1.0, 2.0, -3.0};
  state["u/u"].data = {0.0, 0.0, 0.0};
  auto out = step("optimizer: {momentum: {learning_rate: 0.125, momentum: 0.5}}", state);
  CHECK(out["state:w/u"] == std::vector<double>{1.0, 0.0, -1.25});
  CHECK(out["parameter:w"] == std::vector<double>{0.375, -1.25, 2.15625});
  check_each(out["state:u/u"], [](size_t i) { return gu[i] / count; });
}

TEST_CASE("a step is clipped by the norm over all parameters") {
  double squares = 0;
  for (size_t i = 0; i < 3; ++i)
    squares += (gw[i] * gw[i] + gu[i] * gu[i]) / (count * count);
  const double norm = std::sqrt(squares);
  auto clipped = step("optimizer: {sgd: {learning_rate: 0.125}}, clip: {global_norm: 0.5}");
  REQUIRE(norm > 0.5);
  CHECK(clipped["driver:gradient_norm"][0] == Approx(norm).epsilon(1e-14));
  check_each(clipped["parameter:w"],
             [&](size_t i) { return w[i] - rate * (gw[i] / count) * (0.5 / norm); });
  auto whole = step("optimizer: {sgd: {learning_rate: 0.125}}, clip: {global_norm: 100}");
  check_each(whole["parameter:w"], [](size_t i) { return w[i] - rate * gw[i] / count; });
}

TEST_CASE("adamw as PyTorch's, with decay only where it is not excluded") {
  const double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1;
  const std::vector<double> m = {0.1, -0.2, 0.3}, v = {0.01, 0.04, 0.09};
  const double correction1 = 1 - std::pow(beta1, 3),
               correction2 = std::sqrt(1 - std::pow(beta2, 3));
  Leaves state;
  for (const char* name : {"w", "u"}) {
    state[std::string(name) + "/m"].data = m;
    state[std::string(name) + "/v"].data = v;
  }
  state["driver:one_minus_beta1_t"].data = {correction1};
  state["driver:sqrt_one_minus_beta2_t"].data = {correction2};
  auto stepped = [&](double value, double gradient, double wd, size_t i) {
    double g = gradient / count;
    double mi = beta1 * m[i] + (1 - beta1) * g, vi = beta2 * v[i] + (1 - beta2) * g * g;
    value -= rate * wd * value;
    return value - rate / correction1 * mi / (std::sqrt(vi) / correction2 + epsilon);
  };
  auto out = step(
      "optimizer: {adamw: {learning_rate: 0.125, betas: [0.9, 0.95], weight_decay: 0.1, "
      "exclude: [u]}}",
      state);
  check_each(out["state:w/m"], [&](size_t i) { return 0.9 * m[i] + 0.1 * gw[i] / count; });
  check_each(out["state:w/v"],
             [&](size_t i) { return 0.95 * v[i] + 0.05 * (gw[i] / count) * (gw[i] / count); });
  check_each(out["parameter:w"], [&](size_t i) { return stepped(w[i], gw[i], decay, i); });
  check_each(out["parameter:u"], [&](size_t i) { return stepped(u[i], gu[i], 0, i); });
  auto adam = step("optimizer: {adam: {learning_rate: 0.125, betas: [0.9, 0.95]}}", state);
  check_each(adam["parameter:w"], [&](size_t i) { return stepped(w[i], gw[i], 0, i); });
}

TEST_CASE("gradients are those of the loss's sum, added to what was accumulated before") {
  const std::vector<double> x = {1, 2, 3, -1, 0.5, 4}, t = {0, 1, -1, 2, 0.25, 3};
  for (int64_t microbatches : {1, 2}) {
    Built b = two_vectors("optimizer: {sgd: {learning_rate: 0.125}}, microbatches: " +
                          std::to_string(microbatches));
    std::optional<Graph> g = accumulate_graph(b.spec, b.sources, b.numerics, b.diagnostics);
    REQUIRE(g);
    const size_t rows = static_cast<size_t>(2 / microbatches);
    Leaves leaves;
    leaves["w"].data = w;
    leaves["u"].data = u;
    leaves["gradient:w"].data = {10, 20, 30};
    leaves["gradient:u"].data = {0, 0, 0};
    leaves["x"].data.assign(x.begin(), x.begin() + static_cast<int64_t>(rows * 3));
    leaves["t"].data.assign(t.begin(), t.begin() + static_cast<int64_t>(rows * 3));
    auto out = outputs(*g, leaves);
    double sum = 0;
    std::vector<double> dw = {10, 20, 30};
    if (microbatches == 1)
      dw = {0, 0, 0};
    for (size_t row = 0; row < rows; ++row)
      for (size_t i = 0; i < 3; ++i) {
        double error = x[row * 3 + i] * w[i] + u[i] - t[row * 3 + i];
        sum += error * error;
        dw[i] += 2 * error * x[row * 3 + i];
      }
    CHECK(out["driver:loss_sum"][0] == Approx(sum).epsilon(1e-14));
    CHECK(out["driver:loss_count"][0] == static_cast<double>(rows * 3));
    check_each(out["gradient:w"], [&](size_t i) { return dw[i]; });
  }
}

TEST_CASE("eval leaves the examples beyond the last out of every loss") {
  const std::vector<double> x = {1, 2, 3, -1, 0.5, 4}, t = {0, 1, -1, 2, 0.25, 3};
  Built b = two_vectors("optimizer: {sgd: {learning_rate: 0.125}}");
  std::optional<Graph> g = eval_graph(b.spec, b.sources, b.numerics, b.diagnostics);
  REQUIRE(g);
  for (size_t valid : {1, 2}) {
    Leaves leaves;
    leaves["w"].data = w;
    leaves["u"].data = u;
    leaves["x"].data = x;
    leaves["t"].data = t;
    leaves["driver:valid_examples"].data = {static_cast<double>(valid)};
    auto out = outputs(*g, leaves);
    double sum = 0;
    for (size_t i = 0; i < 3 * valid; ++i)
      sum += std::pow(x[i] * w[i % 3] + u[i % 3] - t[i], 2);
    CHECK(out["driver:loss_sum"][0] == Approx(sum).epsilon(1e-14));
    CHECK(out["driver:loss_count"][0] == static_cast<double>(3 * valid));
  }
}
