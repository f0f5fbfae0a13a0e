// Fusion and packing move no bit: the programs with one instruction a node train to the same
// numbers.
#include <catch2/catch.hpp>

#include "planning.h"
#include "random_model.h"
#include "training.h"

namespace mtf {
namespace {

int instructions(const Plan& plan) {
  size_t n = 0;
  for (const PlannedProgram& p : plan.programs)
    n += p.program.code.size();
  return static_cast<int>(n);
}

void check_fusion(const std::string& path, std::vector<std::string> sets) {
  sets.push_back("train.eval_every=null");
  const Planned fused = plan_file(path, sets), unfused = plan_unfused(path, sets);
  INFO(fused.messages << unfused.messages);
  REQUIRE(fused.plan);
  REQUIRE(unfused.plan);
  CHECK(instructions(*fused.plan) < instructions(*unfused.plan));
  const Outcome a = train_plan(fused.spec, *fused.plan),
                b = train_plan(unfused.spec, *unfused.plan);
  CHECK(difference(a, b) == "");
  CHECK(b.lies == "");
}

const std::vector<std::string> small_lm = {"train.steps=2", "dims.length=32", "dims.d_ff=256",
                                           "dims.layers=2"};

std::vector<std::string> with(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

TEST_CASE("fused equals unfused on one rank") {
  check_fusion("specs/lm_bytes.yaml", with(small_lm, {"mesh={one: 1}", "layout={}"}));
  check_fusion("specs/lm_bytes.yaml",
               with(small_lm, {"mesh={one: 1}", "layout={}", "numerics={compute: bf16}"}));
  check_fusion("specs/digits_mlp.yaml", {"train.steps=3", "mesh={one: 1}", "layout={}"});
}

TEST_CASE("fused equals unfused in a layout that splits everything") {
  check_fusion("specs/lm_bytes.yaml", with(small_lm, {"layout.length=model?"}));
  check_fusion("specs/lm_bytes.yaml",
               with(small_lm, {"train.microbatches=2", "train.accumulate=blocks"}));
}

TEST_CASE("fused equals unfused for random models") {
  int compared = 0;
  for (uint64_t seed = 1000; seed < 1040; ++seed) {
    const RandomModel model = random_model(seed, 1);
    const TextFile file(model.yaml);
    INFO("seed " << seed << "\n" << model.yaml << model.layouts[0].overrides[1]);
    if (seed % 2 == 0) {
      check_fusion(file.path(), {"train.steps=2"});
    } else if (plan_file(file.path(), model.layouts[0].overrides).plan) {
      check_fusion(file.path(), with(model.layouts[0].overrides, {"train.steps=2"}));
    } else {
      continue;
    }
    ++compared;
  }
  CHECK(compared >= 30);
}

}  // namespace
}  // namespace mtf
