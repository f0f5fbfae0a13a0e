// Which maps become part of the product before them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "planning.h"

namespace mtf {
namespace {

// The labels of the instructions of an eval program on one rank, and the number of their results.
std::vector<std::string> labels(const std::string& steps, const std::string& outputs) {
  const Planned planned = plan_text(
      "mtf: 1\nname: t\ndims: {b: 4, i: 6, j: 8}\n"
      "model:\n"
      "  inputs: {x: [b, i]}\n"
      "  params: {w: [i, j], bias: [j]}\n"
      "  steps:\n" +
          steps + "  outputs: " + outputs +
          "\n"
          "data: {synthetic: {x: {normal: 1.0}}}\n",
      {}, Job::eval);
  INFO(planned.messages);
  REQUIRE(planned.plan);
  std::vector<std::string> out;
  for (const Instruction& i : planned.plan->find("eval")->program.code)
    out.push_back(std::get<Compute>(i.action).label + "/" + std::to_string(i.results.size()));
  return out;
}

int64_t count(const std::vector<std::string>& all, const std::string& label) {
  return std::count(all.begin(), all.end(), label);
}

}  // namespace

TEST_CASE("bias and activation are applied before a product is stored") {
  const auto found = labels(
      "    - s: {einsum: [x, w]}\n    - sb: {add: [s, bias]}\n    - h: {relu: sb}\n", "{h: h}");
  CHECK(found == std::vector<std::string>{"contract+add+relu/1"});
}

TEST_CASE("sums that others read too are stored beside the map's result") {
  const auto found = labels(
      "    - s: {einsum: [x, w]}\n    - h: {relu: s}\n    - t: {reduce_sum: s, over: [b, j]}\n",
      "{h: h, t: t}");
  CHECK(count(found, "contract+relu/2") == 1);
}

TEST_CASE(
    "a map in a larger space, or one that is not the first to read the sums, stays by itself") {
  const auto wider =
      labels("    - s: {einsum: [w, bias]}\n    - h: {multiply: [x, s]}\n", "{h: h}");
  CHECK(count(wider, "contract/1") == 1);
  const auto later = labels(
      "    - s: {einsum: [x, w]}\n    - t: {reduce_sum: s, over: [b, j]}\n    - h: {multiply: [s, "
      "t]}\n",
      "{h: h}");
  CHECK(count(later, "contract/1") == 1);
}

}  // namespace mtf
