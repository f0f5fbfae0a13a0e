// Small models to programs: which conversions they need, and which not.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "planning.h"

namespace mtf {
namespace {

using Lines = std::vector<std::string>;

// Steps on x [batch, a, b, c], w [c, d] and v [c, d]; the result is y.
Planned eval_plan(const std::string& steps, const std::string& mesh, const std::string& layout) {
  return plan_text(
      "mtf: 1\nname: small\ndims: {batch: 8, a: 6, b: 4, c: 16, d: 32, ab: 24, a2: 2, a3: 3, p: 4, "
      "q: 6, past: b}\n"
      "model:\n  inputs: {x: {dims: [batch, a, b, c]}}\n  params: {w: [c, d], v: [c, d]}\n  "
      "steps:\n" +
          steps + "  outputs: {y: y}\ndata: {synthetic: {x: {normal: 1.0}}}\n",
      {"mesh=" + mesh, "layout=" + layout}, Job::eval);
}

Lines eval_collectives(const std::string& steps, const std::string& mesh,
                       const std::string& layout) {
  const Planned planned = eval_plan(steps, mesh, layout);
  INFO(planned.messages);
  REQUIRE(planned.plan);
  Lines out;
  const Program& p = planned.plan->programs[0].program;
  for (const Instruction& i : p.code) {
    if (std::holds_alternative<Compute>(i.action))
      continue;
    const std::string line = print(p, i);
    out.push_back(line.substr(line.find('=') + 2, line.find(" <-") - line.find('=') - 2));
  }
  return out;
}

TEST_CASE("a rule on an axis of size 1 leaves the plan as it is") {
  const std::string steps = "    - y: {einsum: [x, w]}\n";
  const Planned with = eval_plan(steps, "{data: 1, model: 2}", "{batch: data, d: model}");
  const Planned without = eval_plan(steps, "{model: 2}", "{d: model}");
  INFO(with.messages);
  REQUIRE(with.plan);
  CHECK(with.plan->digest == without.plan->digest);
  CHECK(with.plan->mesh.ranks() == 2);
}

TEST_CASE("a split at an equal prefix passes through a reshape without traffic") {
  const std::string merge = "    - y: {reshape: x, from: [a, b], to: [ab]}\n";
  CHECK(eval_collectives(merge, "{m: 2}", "{a: m, ab: m}") == Lines{});
  CHECK(eval_collectives(merge, "{m: 2}", "{batch: m}") == Lines{});
  CHECK(eval_collectives(merge, "{m: 2}", "{c: m}") == Lines{});
  const std::string cut = "    - y: {reshape: x, from: [a], to: [a2, a3]}\n";
  CHECK(eval_collectives(cut, "{m: 2}", "{a: m, a2: m}") == Lines{});
  // Equal prefix products need no common factor: half of [6, 4] is half of [4, 6].
  CHECK(eval_collectives("    - y: {reshape: x, from: [a, b], to: [p, q]}\n", "{m: 2}",
                         "{a: m, p: m}") == Lines{});
}

TEST_CASE("a split that a reshape cannot carry is gathered first, or sliced after") {
  const std::string merge = "    - t: {tanh: x}\n    - y: {reshape: t, from: [a, b], to: [ab]}\n";
  CHECK(eval_collectives(merge, "{m: 2}", "{b: m}") == Lines{"all_gather b over m"});
  const std::string cut = "    - t: {tanh: x}\n    - y: {reshape: t, from: [a], to: [a2, a3]}\n";
  CHECK(eval_collectives(cut, "{m: 3}", "{a: m, a3: m}") ==
        Lines{"all_gather a over m", "slice a3 over m"});
}

TEST_CASE("a value has one layout under all its names") {
  const std::string steps =
      "    - t: {tanh: x}\n    - r: {rename: t, dims: {b: past}}\n    - s: {transpose: r, to: [c, "
      "past, a, batch]}\n"
      "    - y: {einsum: [s, w], to: [past, a, batch, d]}\n";
  CHECK(eval_collectives(steps, "{m: 2}", "{b: m, past: m}") == Lines{});
  CHECK(eval_collectives(steps, "{m: 2}", "{b: m}") == Lines{"all_gather b over m"});
}

TEST_CASE("a sum that is split goes straight to where its one reader wants it") {
  CHECK(eval_collectives("    - h: {einsum: [x, w]}\n    - y: {tanh: h}\n", "{m: 2}",
                         "{c: m, d: 'm?'}") == Lines{"reduce_scatter d over [m] by halving"});
  CHECK(eval_collectives("    - h: {einsum: [x, w]}\n    - y: {tanh: h}\n", "{m: 2}", "{c: m}") ==
        Lines{"all_reduce sum over [m] by doubling"});
}

TEST_CASE("two readers in one layout share a conversion") {
  const std::string steps =
      "    - t: {tanh: x}\n    - h: {einsum: [x, w]}\n    - g: {einsum: [t, w]}\n    - y: {add: "
      "[h, g]}\n";
  CHECK(eval_collectives(steps, "{m: 2}", "{rules: [{b: m}], tensors: {w: [{d: m}]}}") ==
        Lines{"all_gather d over m"});
}

TEST_CASE("order of the axes of one dim follows the rule, and partial sums go innermost first") {
  CHECK(eval_collectives("    - h: {einsum: [x, w]}\n    - y: {tanh: h}\n", "{m: 2, n: 2}",
                         "{c: [m, n]}") == Lines{"all_reduce sum over [n, m] by doubling"});
}

TEST_CASE("indices and constants are made where they are read, at no traffic") {
  CHECK(eval_collectives("    - i: {iota: [], over: c}\n    - f: {cast: i, dtype: f32}\n    - y: "
                         "{multiply: [x, f]}\n",
                         "{m: 2}", "{c: m}") == Lines{});
}

}  // namespace
}  // namespace mtf
