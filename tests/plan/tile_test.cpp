// Which instructions are tiled, and what that leaves in the arena.
#include <catch2/catch.hpp>

#include "planning.h"

namespace mtf {
namespace {

std::vector<const Compute*> tiled(const Program& p) {
  std::vector<const Compute*> out;
  for (const Instruction& i : p.code)
    if (const auto* c = std::get_if<Compute>(&i.action); c && c->call.kernel == "tiled")
      out.push_back(c);
  return out;
}

// The local sizes of a tile of `d`; 0 if tiles have all of it.
int64_t tile_size(const Program& p, const Compute& c, std::string_view d) {
  for (const TileDim& t : c.call.tile)
    if (p[t.dim].name == d)
      return t.size;
  return 0;
}

bool is_score(const Program& p, ValueId v) {
  int64_t found = 0;
  for (DimId d : p[v].type.shape.dims)
    found += p[d].name == "heads" || p[d].name == "length" || p[d].name == "memory_length";
  return found == 3;
}

int64_t scores_outside(const Program& p) {
  int64_t found = 0;
  for (const Instruction& i : p.code)
    for (ValueId v : i.results)
      found += is_score(p, v);
  return found;
}

}  // namespace

TEST_CASE("attention is one instruction forward and one backward, and its scores are never whole") {
  const Planned planned = plan_file("specs/lm_bytes.yaml", {"mesh={one: 1}", "layout={}"});
  REQUIRE(planned.plan);
  const Program& p = planned.plan->find("accumulate")->program;
  const std::vector<const Compute*> found = tiled(p);
  REQUIRE(found.size() == 8);  // 4 layers
  CHECK(scores_outside(p) == 0);
  CHECK(tile_size(p, *found.front(), "batch") == 1);
  CHECK(tile_size(p, *found.front(), "heads") == 1);
  CHECK(tile_size(p, *found.front(), "length") == 128);
  CHECK(tile_size(p, *found.back(), "heads") == 1);
  CHECK(tile_size(p, *found.back(), "length") == 0);  // the gradients of k and v sum over it
  // Forward: the scores of a tile, each step over the one before, and two rows of statistics.
  constexpr int64_t scores = 128 * 128 * 4, rows = 128 * 4;
  CHECK(found.front()->call.workspace_bytes == scores + rows);
  // Backward: weights, their gradient, and a sum of rows.
  CHECK(found.back()->call.workspace_bytes == 2 * scores + rows);
  CHECK(planned.plan->scratch_bytes == scratch_bytes_per_thread + 2 * scores + rows);
}

TEST_CASE("rows of a tile are halved until it fits in a near cache") {
  const Planned planned =
      plan_file("specs/lm_bytes.yaml", {"mesh={one: 1}", "layout={}", "dims.length=1024"});
  REQUIRE(planned.plan);
  const Program& p = planned.plan->find("accumulate")->program;
  CHECK(tile_size(p, *tiled(p).front(), "length") == 128);  // 512 KiB of scores
}

TEST_CASE("split heads are tiled, split positions of the memory are not") {
  const Planned heads =
      plan_file("specs/lm_bytes.yaml", {"mesh={model: 2}", "layout={heads: model}"});
  REQUIRE(heads.plan);
  CHECK(tiled(heads.plan->find("accumulate")->program).size() == 8);
  const Planned memory =
      plan_file("specs/lm_bytes.yaml", {"mesh={model: 2}", "layout={memory_length: model}"});
  REQUIRE(memory.plan);
  CHECK(tiled(memory.plan->find("accumulate")->program).empty());
}

TEST_CASE("a product with weights that every example shares is not tiled") {
  const Planned planned = plan_file("specs/digits_mlp.yaml", {"mesh={one: 1}", "layout={}"});
  REQUIRE(planned.plan);
  for (const PlannedProgram& each : planned.plan->programs)
    CHECK(tiled(each.program).empty());
}

}  // namespace mtf
