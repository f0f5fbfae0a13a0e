// The walk over dims that every layout comes from.
#include <catch2/catch.hpp>

#include "mesh/layout.h"

namespace mtf {
namespace {

const AxisId x{0}, y{1}, z{2};
const Mesh mesh{{{"x", 2}, {"y", 4}, {"z", 3}}};

LayoutRule rule(const std::string& dim, const AxisList& hard, const AxisList& soft = {}) {
  LayoutRule r;
  r.dim = dim;
  for (AxisId a : hard)
    r.axes.push_back({a, false, {}});
  for (AxisId a : soft)
    r.axes.push_back({a, true, {}});
  return r;
}

Dim dim(const std::string& name, int64_t size) {
  return {name, size, name, {}};
}
Dim block(const std::string& of, int64_t size) {
  return {of + "#" + std::to_string(size), size, of, DimId{0}};
}

struct Walked {
  std::vector<AxisList> split;
  std::vector<WalkConflict> conflicts;
};

Walked walked(const std::vector<Dim>& dims, const std::vector<LayoutRule>& rules) {
  std::vector<const Dim*> pointers;
  for (const Dim& d : dims)
    pointers.push_back(&d);
  Walked out;
  out.split = walk(pointers, mesh, rules, &out.conflicts);
  return out;
}

using Splits = std::vector<AxisList>;

TEST_CASE("a rule gives its axis to its dim, where the dim is there") {
  const std::vector<LayoutRule> rules = {rule("batch", {x}), rule("heads", {y})};
  CHECK(walked({dim("batch", 8), dim("d", 8)}, rules).split == Splits{{x}, {}});
  CHECK(walked({dim("heads", 8), dim("batch", 8)}, rules).split == Splits{{y}, {x}});
  CHECK(walked({dim("d", 8)}, rules).conflicts.empty());
}

TEST_CASE("two hard rules on one axis conflict where both dims meet") {
  const std::vector<LayoutRule> rules = {rule("batch", {x}), rule("d", {x})};
  const Walked w = walked({dim("d", 8), dim("batch", 8)}, rules);
  CHECK(w.split == Splits{{}, {x}});  // the first rule has it
  REQUIRE(w.conflicts.size() == 1);
  CHECK(w.conflicts[0].rule == &rules[1]);
  CHECK(w.conflicts[0].other == &rules[0]);
  CHECK(w.conflicts[0].axis == x);
  CHECK(w.conflicts[0].dim == 0);
  CHECK(w.conflicts[0].other_dim == 1);
}

TEST_CASE("a hard rule must divide the size") {
  const std::vector<LayoutRule> rules = {rule("heads", {z})};
  const Walked w = walked({dim("heads", 8)}, rules);
  CHECK(w.split == Splits{{}});
  REQUIRE(w.conflicts.size() == 1);
  CHECK(w.conflicts[0].rule == &rules[0]);
  CHECK(w.conflicts[0].other == nullptr);
}

TEST_CASE("soft rules take what is left, after all hard ones, and never conflict") {
  const std::vector<LayoutRule> rules = {rule("length", {}, {y}), rule("heads", {y}),
                                         rule("d", {}, {y, z})};
  CHECK(walked({dim("length", 8), dim("heads", 8)}, rules).split == Splits{{}, {y}});
  CHECK(walked({dim("length", 8), dim("d", 12)}, rules).split == Splits{{y}, {z}});
  const Walked odd = walked({dim("length", 6), dim("d", 8)}, rules);
  CHECK(odd.split == Splits{{}, {y}});  // 6 is not divisible by 4, nor 8 by 3
  CHECK(odd.conflicts.empty());
}

TEST_CASE("several axes of a dim are major to minor as written, whenever they were taken") {
  LayoutRule mixed = rule("batch", {});
  mixed.axes = {{x, true, {}}, {y, false, {}}};  // y is taken first
  CHECK(walked({dim("batch", 16)}, {mixed}).split == Splits{{x, y}});
  CHECK(walked({dim("batch", 4)}, {mixed}).split == Splits{{y}});  // 4 = 4 * 1
  CHECK(walked({dim("batch", 16)}, {rule("batch", {y, x})}).split == Splits{{y, x}});
  const Walked indivisible = walked({dim("batch", 4)}, {rule("batch", {y, x})});
  CHECK(indivisible.split == Splits{{y}});
  CHECK(indivisible.conflicts.size() == 1);
}

TEST_CASE(
    "a block dim follows the rule of the dim it cuts and is silently whole where that cannot be") {
  const std::vector<LayoutRule> rules = {rule("batch", {y})};
  CHECK(walked({block("batch", 8)}, rules).split == Splits{{y}});
  const Walked two = walked({block("batch", 2)}, rules);
  CHECK(two.split == Splits{{}});
  CHECK(two.conflicts.empty());
}

TEST_CASE("the last pattern that matches a tensor's path gives its rules") {
  LayoutRules rules;
  rules.rules = {rule("a", {x})};
  rules.tensors = {
      {"layers[*]/w", {rule("b", {x})}}, {"layers[1]/*", {rule("c", {x})}}, {"**/v", {}}};
  CHECK(rules.for_tensor("table")[0].dim == "a");
  CHECK(rules.for_tensor("layers[0]/w")[0].dim == "b");
  CHECK(rules.for_tensor("layers[1]/w")[0].dim == "c");
  CHECK(rules.for_tensor("layers[1]/v").empty());
  CHECK(rules.for_tensor("layers[0]/mlp/w")[0].dim == "a");
}

}  // namespace
}  // namespace mtf
