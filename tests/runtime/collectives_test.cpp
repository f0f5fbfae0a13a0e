// Collectives on ranks as threads, groups of a mesh, and the rule that chooses an algorithm.
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "collective_checks.h"
#include "plan/traffic.h"
#include "runtime/thread_communicator.h"

using namespace mtf;

namespace {

constexpr AxisId data{0}, model{1};
const Mesh mesh{{{"data", 2}, {"model", 4}}};  // rank = 4 * data + model

}  // namespace

TEST_CASE("every collective equals the naive tree and sends what is planned") {
  const int ranks = GENERATE(1, 2, 3, 4, 6, 8);
  const int64_t elements = GENERATE(1, 5, 1000);
  CAPTURE(ranks, elements);
  CHECK_NOTHROW(run_ranks(ranks, [&](Communicator& c) { check_collectives(c, elements); }));
}

TEST_CASE("large buffers too") {
  const int ranks = GENERATE(3, 4, 8);
  CAPTURE(ranks);
  CHECK_NOTHROW(run_ranks(ranks, [](Communicator& c) { check_collectives(c, 10001); }));
}

TEST_CASE("a group is the ranks that differ along its axes, the first axis least significant") {
  const Group inner = group_of(mesh, 6, {model});
  CHECK(inner.ranks == std::vector<int>{4, 5, 6, 7});
  CHECK(inner.position == 2);
  const Group outer = group_of(mesh, 6, {data});
  CHECK(outer.ranks == std::vector<int>{2, 6});
  CHECK(outer.position == 1);
  const Group both = group_of(mesh, 6, {data, model});
  CHECK(both.ranks == std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(both.position == 5);
  const Group other = group_of(mesh, 6, {model, data});
  CHECK(other.ranks == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(other.position == 6);
}

TEST_CASE("summing one axis after the other equals summing both at once") {
  run_ranks(mesh.ranks(), [](Communicator& c) {
    std::vector<float> once(300), twice(300), staging(300);
    for (size_t i = 0; i < once.size(); ++i)
      once[i] = twice[i] = std::sin(static_cast<float>(c.rank() * 1000) + static_cast<float>(i));
    const auto sum = [&](std::vector<float>& x, const AxisList& over, Algorithm algorithm) {
      all_reduce(c, group_of(mesh, c.rank(), over), Reduction::sum, algorithm, DType::f32,
                 std::as_writable_bytes(std::span(x)), std::as_writable_bytes(std::span(staging)));
    };
    sum(once, {data, model}, Algorithm::halving);
    sum(twice, {data}, Algorithm::doubling);
    sum(twice, {model}, Algorithm::halving);
    if (once != twice)
      throw std::runtime_error("the two orders differ");
  });
}

TEST_CASE("traffic of an all_reduce that does not divide evenly") {
  // 5 elements over 4 ranks: chunks of 2, 2, 1 and 0. Position 1 gives chunks {0, 2} then {3}, and
  // on the way back chunks {1} then {1, 3}: 3 + 0 + 2 + 2 elements in 3 messages. Position 0 gives
  // {1, 3}, {2}, {0}, {0, 2}: 2 + 1 + 2 + 3 in 4.
  Program program;
  program.mesh = mesh;
  Value value;
  value.local_sizes = {5};
  program.values = {value};
  Instruction sum{AllReduce{{model}, Reduction::sum, Algorithm::halving}, {{0}}, {{0}}, {}, {}};
  CHECK(traffic(program, sum).bytes == 8 * 4);
  CHECK(traffic(program, sum).messages == 4);
  sum.inputs = {{0}, {0}};  // packed: 10 elements, chunks of 3, 3, 3, 1
  sum.action = AllReduce{{model}, Reduction::sum, Algorithm::doubling};
  CHECK(traffic(program, sum).bytes == 2 * 10 * 4);
  CHECK(traffic(program, sum).messages == 2);
}

TEST_CASE("the algorithm follows size and number of ranks") {
  CHECK(choose_algorithm((32 << 10) - 4, 8) == Algorithm::doubling);
  CHECK(choose_algorithm(32 << 10, 8) == Algorithm::halving);
  CHECK(choose_algorithm(4, 6) == Algorithm::gather);
}

TEST_CASE("a rank that throws ends the others' waits") {
  const auto body = [](Communicator& c) {
    if (c.rank() == 2)
      throw Failure(Exit::non_finite, "rank 2 is ill");
    for (;;)
      c.barrier();
  };
  CHECK_THROWS_WITH(run_ranks(4, body), "rank 2 is ill");

  std::atomic<int> told = 0;
  CHECK_THROWS_WITH(run_ranks(3,
                              [&](Communicator& c) {
                                if (c.rank() == 0)
                                  c.abort(static_cast<int>(Exit::stuck));
                                try {
                                  c.barrier();
                                } catch (const Failure& f) {
                                  told += f.code() == Exit::peer_died;
                                  throw;
                                }
                              }),
                    "a rank stopped all ranks");
  CHECK(told == 2);
}
