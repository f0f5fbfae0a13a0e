// The memory plan of real programs: no two values that live at the same time share bytes, and
// little is wasted.
#include <catch2/catch.hpp>

#include "lifetimes.h"
#include "planning.h"

namespace mtf {
namespace {

struct Example {
  const char* spec;
  std::vector<std::string> sets;
};

const std::vector<Example> examples = {
    {"specs/two_layer.yaml", {"mesh={rows: 2, cols: 2}", "layout={io: rows, hidden: cols}"}},
    {"specs/digits_mlp.yaml", {}},
    {"specs/lm_bytes.yaml", {"mesh={one: 1}", "layout={}"}},
    {"specs/lm_bytes.yaml", {"layout.length=model?"}},
    {"specs/lm_bytes.yaml", {"train.microbatches=2", "train.accumulate=blocks"}},
    {"specs/lm_paper_5b.yaml", {"train.optimizer={adamw: {}}"}},
};

// May `later` begin in bytes that `earlier` ends in? Only as the result of the instruction that
// reads it last, written in place.
bool handed_over(const Program& p, const Stay& earlier, const Stay& later) {
  if (earlier.last != later.made || earlier.made >= later.made || earlier.offset != later.offset ||
      later.value.index < 0 || earlier.value.index < 0)
    return false;
  const Instruction& i = p.code[static_cast<size_t>(later.made)];
  const auto* compute = std::get_if<Compute>(&i.action);
  return (compute ? compute->in_place : std::holds_alternative<AllReduce>(i.action)) &&
         p[earlier.value].local_bytes() == p[later.value].local_bytes();
}

int overlaps(const PlannedProgram& planned) {
  const std::vector<Stay> stays = arena_stays(planned);
  int found = 0;
  for (size_t a = 0; a < stays.size(); ++a)
    for (size_t b = a + 1; b < stays.size(); ++b) {
      const bool bytes = stays[a].offset < stays[b].offset + stays[b].bytes &&
                         stays[b].offset < stays[a].offset + stays[a].bytes;
      const bool time = stays[a].made <= stays[b].last && stays[b].made <= stays[a].last;
      found += bytes && time && !handed_over(planned.program, stays[a], stays[b]);
    }
  return found;
}

int64_t rounded(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// The most bytes in use at once; bytes handed over in place count once.
int64_t peak(const PlannedProgram& planned) {
  const std::vector<Stay> stays = arena_stays(planned);
  int64_t most = 0;
  for (int now = 0; now < static_cast<int>(planned.program.code.size()); ++now) {
    int64_t bytes = 0;
    for (const Stay& s : stays)
      if (s.made <= now && now <= s.last)
        bytes += rounded(s.bytes);
    for (const Stay& later : stays)
      if (later.made == now && std::any_of(stays.begin(), stays.end(), [&](const Stay& s) {
            return handed_over(planned.program, s, later);
          }))
        bytes -= rounded(later.bytes);
    most = std::max(most, bytes);
  }
  return most;
}

TEST_CASE("values that live at the same time share no bytes") {
  for (const Example& e : examples) {
    const Planned planned = plan_file(e.spec, e.sets);
    INFO(e.spec << " " << planned.messages);
    REQUIRE(planned.plan);
    for (const PlannedProgram& p : planned.plan->programs) {
      INFO(p.program.name);
      CHECK(overlaps(p) == 0);
      for (const Stay& s : arena_stays(p)) {
        CHECK(s.offset >= 0);
        CHECK(s.offset % alignment == 0);
        CHECK(s.offset + s.bytes <= p.memory.arena_bytes);
      }
    }
  }
}

TEST_CASE("the arena is at least the live bytes and hardly more") {
  for (const Example& e : examples) {
    const Planned planned = plan_file(e.spec, e.sets);
    REQUIRE(planned.plan);
    for (const PlannedProgram& p : planned.plan->programs) {
      INFO(e.spec << " " << p.program.name);
      CHECK(p.memory.peak_live_bytes == peak(p));
      CHECK(p.memory.arena_bytes >= p.memory.peak_live_bytes);
      CHECK(p.memory.arena_bytes <= p.memory.peak_live_bytes + p.memory.peak_live_bytes / 10);
    }
  }
}

TEST_CASE("resident values follow each other without a gap or an overlap") {
  const Planned planned = plan_file("specs/lm_bytes.yaml", {});
  REQUIRE(planned.plan);
  int64_t end = 0;
  for (const Persistent& p : planned.plan->resident.list) {
    CHECK(p.offset == end);
    end += rounded(p.value.local_bytes());
  }
  CHECK(planned.plan->resident.bytes == end);
  const int64_t parameters = planned.plan->resident.bytes_of(Storage::parameter);
  CHECK(planned.plan->resident.bytes_of(Storage::gradient) == parameters);
  CHECK(planned.plan->resident.bytes_of(Storage::state) == 2 * parameters);
}

}  // namespace
}  // namespace mtf
