// Both laws on random models in random layouts. `MTF_SEED=17 laws_of_random_models [replay]`
// repeats one model and prints it.
#include <catch2/catch.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "base/error.h"
#include "random_model.h"
#include "training.h"

namespace mtf {
namespace {

struct Counts {
  int models = 0, finite = 0;
  int exact = 0, inexact = 0, refused = 0;  // layouts
};

// Samples: every tenth model with two threads a rank, others on lesser instruction sets, half of
// them with the free parts of memory poisoned.
Machine machine_of(uint64_t seed) {
  Machine machine;
  machine.poison = seed % 2 == 0;
  if (seed % 10 == 0)
    machine.threads = 2;
  if (seed % 10 == 1 && isa_available(Isa::avx2))
    machine.isa = Isa::avx2;
  if (seed % 10 == 2)
    machine.isa = Isa::portable;
  return machine;
}

bool finite(const Outcome& o) {
  return std::all_of(o.losses.begin(), o.losses.end(),
                     [](double loss) { return std::isfinite(loss); });
}

// Layouts that are not exact still compute the same model, as long as it does not diverge.
void check_close(const Outcome& a, const Outcome& b) {
  REQUIRE(a.losses.size() == b.losses.size());
  for (size_t i = 0; finite(a) && i < a.losses.size(); ++i)
    CHECK(b.losses[i] == Approx(a.losses[i]).epsilon(1e-4).margin(1e-4));
}

// `always` are overrides of every run, `one` the outcome on one rank.
void check_layouts(uint64_t seed, const RandomModel& model, const std::vector<std::string>& always,
                   const Outcome& one, Counts& counts) {
  ++counts.models;
  counts.finite += finite(one);
  for (const RandomLayout& layout : model.layouts) {
    std::vector<std::string> overrides = layout.overrides;
    overrides.insert(overrides.end(), always.begin(), always.end());
    INFO(layout.overrides[0] << " " << layout.overrides[1]);
    const Outcome split = train_text(model.yaml, overrides, machine_of(seed));
    INFO(split.messages);
    if (!split.planned) {
      CHECK(split.messages != "");
      ++counts.refused;
      continue;
    }
    CHECK(split.lies == "");
    if (split.exact_sums == split.sums) {
      CHECK(difference(one, split) == "");
      ++counts.exact;
      continue;
    }
    ++counts.inexact;
    CHECK(split.messages != "");
    if (model.yaml.find("bf16") == std::string::npos)
      check_close(one, split);
    if (counts.inexact % 4 == 1)
      CHECK(difference(split, train_text(model.yaml, overrides, machine_of(seed))) == "");
  }
}

void check_model(uint64_t seed, Counts& counts) {
  const RandomModel model = random_model(seed, 4);
  const std::vector<std::string> steps = {seed % 20 == 0 ? "train.steps=5" : "train.steps=3"};
  INFO("seed " << seed << "\n" << model.yaml);
  const Outcome one = train_text(model.yaml, steps);
  INFO(one.messages);
  REQUIRE(one.planned);
  CHECK(one.lies == "");
  check_layouts(seed, model, steps, one, counts);
}

// The same with some dims padded: close to the model without padding. Models that move elements
// along a padded dim are refused.
void check_padded_model(uint64_t seed, Counts& counts, int& refused) {
  const RandomModel model = random_model(seed, 4);
  std::vector<std::string> always = model.padding;
  always.push_back("train.steps=3");
  INFO("seed " << seed << "\n" << model.yaml << fmt::format("{}", fmt::join(always, "\n")));
  const Outcome padded = train_text(model.yaml, always);
  INFO(padded.messages);
  if (!padded.planned) {
    const bool moved = padded.messages.find("elements cannot be moved") != std::string::npos;
    const bool renamed = padded.messages.find("differ in size") != std::string::npos;
    CHECK((moved || renamed));
    ++refused;
    return;
  }
  CHECK(padded.lies == "");
  if (model.yaml.find("bf16") == std::string::npos)
    check_close(train_text(model.yaml, {"train.steps=3"}), padded);
  check_layouts(seed, model, always, padded, counts);
}

void check_models(uint64_t first, uint64_t last) {
  Counts counts;
  for (uint64_t seed = first; seed < last; ++seed)
    check_model(seed, counts);
  std::cout << counts.models << " models: " << counts.exact << " exact layouts, " << counts.inexact
            << " not exact, " << counts.refused << " refused\n";
  CHECK(counts.finite >= counts.models * 9 / 10);
  CHECK(counts.exact >= 60);
  CHECK(counts.inexact >= 10);
}

TEST_CASE("random models part 1", "[laws]") {
  check_models(0, 60);
}
TEST_CASE("random models part 2", "[laws]") {
  check_models(60, 120);
}
TEST_CASE("random models part 3", "[laws]") {
  check_models(120, 180);
}
TEST_CASE("random models part 4", "[laws]") {
  check_models(180, 240);
}

TEST_CASE("random models padded", "[laws]") {
  Counts counts;
  int refused = 0;
  for (uint64_t seed = 0; seed < 200; ++seed)
    check_padded_model(seed, counts, refused);
  std::cout << counts.models << " models padded, " << refused << " refused: " << counts.exact
            << " exact layouts, " << counts.inexact << " not exact, " << counts.refused
            << " refused\n";
  CHECK(counts.models >= 60);
  CHECK(counts.exact >= 60);
}

TEST_CASE("replay", "[.][replay]") {
  const char* seed = std::getenv("MTF_SEED");
  REQUIRE(seed);
  Counts counts;
  const RandomModel model = random_model(std::strtoull(seed, nullptr, 10), 4);
  std::cout << model.yaml;
  for (const RandomLayout& layout : model.layouts)
    std::cout << "  --set '" << layout.overrides[0] << "' --set '" << layout.overrides[1] << "'\n"
              << std::flush;
  check_model(std::strtoull(seed, nullptr, 10), counts);
}

}  // namespace
}  // namespace mtf
