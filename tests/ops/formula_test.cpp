// The values of composite ops against closed forms and independent loops.
#include <catch2/catch.hpp>
#include <cmath>

#include "ops/building.h"

using namespace mtf;
using namespace mtf::testing;
using Dims = std::vector<DimId>;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check_close(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    INFO("element " << i);
    CHECK(found[i] == Approx(expected[i]).margin(1e-12));
  }
}

}  // namespace

TEST_CASE("softmax: a known row, and 0 where everything is masked") {
  Building t;
  DimId rows = t.dim("rows", 2), d = t.dim("d", 3);
  NodeId x = t.input("x", {rows, d});
  NodeId y = t.b.add("softmax", {x}, {{{"over", Dims{d}}}});
  check_close(
      t.values(
          y,
          {{"x", {std::log(1.0), std::log(2.0), std::log(5.0), -infinity, -infinity, -infinity}}}),
      {0.125, 0.25, 0.625, 0, 0, 0});
}

TEST_CASE("logsumexp and log_softmax do not overflow") {
  Building t;
  DimId d = t.dim("d", 2);
  NodeId x = t.input("x", {d});
  NodeId lse = t.b.add("logsumexp", {x}, {{{"over", Dims{d}}}});
  NodeId log = t.b.add("log_softmax", {x}, {{{"over", Dims{d}}}});
  check_close(t.values(lse, {{"x", {1000, 1000}}}), {1000 + std::log(2.0)});
  check_close(t.values(log, {{"x", {1000, 1000}}}), {-std::log(2.0), -std::log(2.0)});
  CHECK(t.values(lse, {{"x", {-infinity, -infinity}}}) == std::vector<double>{-infinity});
}

TEST_CASE("rms_norm and layer_norm") {
  Building t;
  DimId d = t.dim("d", 4);
  NodeId x = t.input("x", {d}), scale = t.parameter("scale", {d}), bias = t.parameter("bias", {d});
  Attrs attrs{{{"over", Dims{d}}, {"epsilon", 0.5}}};
  NodeId rms = t.b.add("rms_norm", {x, scale}, attrs);
  NodeId layer = t.b.add("layer_norm", {x, scale, bias}, attrs);
  std::map<std::string, std::vector<double>> leaves = {
      {"x", {1, 2, 3, 4}}, {"scale", {1, 2, 3, 4}}, {"bias", {10, 20, 30, 40}}};
  const double r = 1 / std::sqrt(30.0 / 4 + 0.5);
  check_close(t.values(rms, leaves), {r, 4 * r, 9 * r, 16 * r});
  const double q = 1 / std::sqrt(1.25 + 0.5);
  check_close(t.values(layer, leaves),
              {10 - 1.5 * q, 20 - 2 * 0.5 * q, 30 + 3 * 0.5 * q, 40 + 4 * 1.5 * q});
}

TEST_CASE("cross_entropy averages over the labels that count") {
  Building t;
  DimId batch = t.dim("batch", 4), v = t.dim("v", 2);
  NodeId x = t.input("x", {batch, v}), labels = t.input("labels", {batch}, DType::i32);
  std::map<std::string, std::vector<double>> leaves = {
      {"x", {std::log(1.0), std::log(3.0), 0, 0, 5, 5, 7, 7}}, {"labels", {1, 0, -1, -1}}};
  NodeId loss = t.b.add("cross_entropy", {x, labels}, {{{"over", v}}});
  check_close(t.values(loss, leaves), {(std::log(4.0 / 3) + std::log(2.0)) / 2});
  check_close(t.values(t.g.loss_count, leaves), {2});
  NodeId other = t.b.add("cross_entropy", {x, labels}, {{{"over", v}, {"ignore", int64_t{0}}}});
  check_close(t.values(other, leaves), {std::log(4.0 / 3)});
  // Smoothing 0.2 gives the label 0.9 and the other class 0.1; z_loss adds 0.5 log(Z)^2.
  NodeId smooth =
      t.b.add("cross_entropy", {x, labels},
              {{{"over", v}, {"ignore", int64_t{0}}, {"smoothing", 0.2}, {"z_loss", 0.5}}});
  check_close(t.values(smooth, leaves), {0.9 * std::log(4.0 / 3) + 0.1 * std::log(4.0) +
                                         0.5 * std::log(4.0) * std::log(4.0)});
}

TEST_CASE("cross_entropy of a distribution is that of its labels, weighted") {
  Building t;
  DimId batch = t.dim("batch", 1), v = t.dim("v", 2);
  NodeId x = t.input("x", {batch, v}), p = t.input("p", {v, batch});
  NodeId loss = t.b.add("cross_entropy", {x, p}, {{{"over", v}}});
  check_close(t.values(loss, {{"x", {std::log(1.0), std::log(3.0)}}, {"p", {0.25, 0.75}}}),
              {0.25 * std::log(4.0) + 0.75 * std::log(4.0 / 3)});
}

TEST_CASE("mean_squared_error and sigmoid_cross_entropy average over all elements") {
  Building t;
  DimId d = t.dim("d", 2);
  NodeId x = t.input("x", {d}), y = t.input("y", {d});
  std::map<std::string, std::vector<double>> leaves = {{"x", {0, 3}}, {"y", {1, 1}}};
  check_close(t.values(t.b.add("mean_squared_error", {x, y}), leaves), {(1 + 4) / 2.0});
  check_close(t.values(t.b.add("sigmoid_cross_entropy", {x, y}), leaves),
              {(std::log(2.0) + std::log1p(std::exp(-3.0))) / 2});
}

TEST_CASE("attention: plain loops say the same, masks included") {
  Building t;
  const int64_t rows = 3, keys = 3, key = 4;
  DimId length = t.dim("length", rows), memory = t.dim("memory", keys), d = t.dim("d", key);
  NodeId q = t.input("q", {length, d}), k = t.input("k", {memory, d}),
         v = t.input("v", {memory, d});
  std::map<std::string, std::vector<double>> leaves;
  for (const char* name : {"q", "k", "v"})
    for (int i = 0; i < 12; ++i)
      leaves[name].push_back(std::sin(1.7 * i + name[0]));
  for (bool causal : {false, true})
    for (int64_t window : {0, 2}) {
      NodeId y = t.b.add("attention", {q, k, v},
                         {{{"rows", length},
                           {"over", memory},
                           {"key", d},
                           {"causal", causal},
                           {"window", window}}});
      std::vector<double> expected;
      for (int64_t r = 0; r < rows; ++r) {
        double weight[keys], sum = 0;
        for (int64_t m = 0; m < keys; ++m) {
          double score = 0;
          for (int64_t i = 0; i < key; ++i)
            score += leaves["q"][r * key + i] * leaves["k"][m * key + i] / 2;
          const bool seen = (!causal || m <= r) && (window == 0 || std::abs(r - m) < window);
          sum += weight[m] = seen ? std::exp(score) : 0;
        }
        for (int64_t i = 0; i < key; ++i) {
          double out = 0;
          for (int64_t m = 0; m < keys; ++m)
            out += weight[m] / sum * leaves["v"][m * key + i];
          expected.push_back(out);
        }
      }
      check_close(t.values(y, leaves), expected);
    }
}

TEST_CASE("a row of attention that sees nothing is 0") {
  Building t;
  DimId length = t.dim("length", 4), memory = t.dim("memory", 1), d = t.dim("d", 1);
  NodeId q = t.input("q", {length, d}), k = t.input("k", {memory, d});
  NodeId y = t.b.add(
      "attention", {q, k, k},
      {{{"rows", length}, {"over", memory}, {"key", d}, {"causal", true}, {"window", int64_t{2}}}});
  CHECK(t.values(y, {{"q", {1, 1, 1, 1}}, {"k", {5}}}) == std::vector<double>{5, 5, 0, 0});
}

TEST_CASE("rope turns pairs by position times frequency") {
  Building t;
  DimId rows = t.dim("rows", 2), d = t.dim("d", 4);
  NodeId x = t.input("x", {rows, d});
  Attrs halves{{{"rows", rows}, {"key", d}}}, neighbours = halves;
  neighbours.set("pairs", std::string("neighbours"));
  std::map<std::string, std::vector<double>> leaves = {{"x", {1, 2, 3, 4, 1, 2, 3, 4}}};
  const double c0 = std::cos(1.0), s0 = std::sin(1.0), c1 = std::cos(0.01), s1 = std::sin(0.01);
  check_close(t.values(t.b.add("rope", {x}, halves), leaves),
              {1, 2, 3, 4, c0 - 3 * s0, 2 * c1 - 4 * s1, 3 * c0 + s0, 4 * c1 + 2 * s1});
  check_close(t.values(t.b.add("rope", {x}, neighbours), leaves),
              {1, 2, 3, 4, c0 - 2 * s0, 2 * c0 + s0, 3 * c1 - 4 * s1, 4 * c1 + 3 * s1});
}

TEST_CASE("sinusoid: sines in the first half, cosines in the second") {
  Building t;
  DimId rows = t.dim("rows", 2), d = t.dim("d", 4);
  NodeId y = t.b.add("sinusoid", {}, {{{"rows", rows}, {"over", d}}});
  check_close(t.values(y, {}),
              {0, 0, 1, 1, std::sin(1.0), std::sin(0.01), std::cos(1.0), std::cos(0.01)});
}

TEST_CASE("activations") {
  Building t;
  NodeId x = t.input("x", {t.dim("d", 3)});
  std::map<std::string, std::vector<double>> leaves = {{"x", {-800, 0.5, 800}}};
  check_close(t.values(t.b.add("elu", {x}), leaves), {-1, 0.5, 800});
  check_close(t.values(t.b.add("selu", {x}), leaves),
              {-1.0507009873554805 * 1.6732632423543772, 0.5 * 1.0507009873554805,
               800 * 1.0507009873554805});
  check_close(t.values(t.b.add("leaky_relu", {x}), leaves), {-8, 0.5, 800});
  check_close(t.values(t.b.add("clip", {x}, {{{"low", -1.0}, {"high", 1.0}}}), leaves),
              {-1, 0.5, 1});
}

TEST_CASE("dropout keeps the mean and is the identity outside training") {
  Building t;
  DimId d = t.dim("d", 2000);
  NodeId y = t.b.add("dropout", {t.input("x", {d})}, {{{"rate", 0.25}}});
  double kept = 0;
  for (double v : t.values(y, {{"x", std::vector<double>(2000, 1.0)}})) {
    CHECK((v == 0 || v == Approx(4.0 / 3)));
    kept += v != 0;
  }
  CHECK(kept / 2000 == Approx(0.75).margin(0.05));
}

TEST_CASE("lookups and their gradient") {
  Building t;
  DimId batch = t.dim("batch", 3), v = t.dim("v", 2), d = t.dim("d", 2);
  NodeId table = t.parameter("table", {v, d}), ids = t.input("ids", {batch}, DType::i32);
  NodeId y = t.b.add("embedding", {table, ids}, {{{"over", v}}});
  std::map<std::string, std::vector<double>> leaves = {{"table", {1, 2, 3, 4}}, {"ids", {1, 0, 1}}};
  CHECK(t.shown(y) == "[batch=3, d=2]");
  check_close(t.values(y, leaves), {3, 4, 1, 2, 3, 4});
  NodeId sum = t.b.reduce_sum(y, {batch, d});
  NodeId dtable = differentiate(t.b, sum, std::vector<NodeId>{table})[0];
  check_close(t.values(dtable, leaves), {1, 1, 2, 2});
}
