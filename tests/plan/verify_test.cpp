// The verifier lets real programs pass and stops at broken ones, each broken in one place.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "plan/verify.h"
#include "planning.h"

namespace mtf {
namespace {

// Does verify() end the process? Tried in a child, silently.
bool stops(const Program& program) {
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    verify(program);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

Program example() {
  const Planned planned = plan_file("specs/two_layer.yaml",
                                    {"mesh={rows: 2, cols: 2}", "layout={io: rows, hidden: cols}"});
  REQUIRE(planned.plan);
  return planned.plan->find("accumulate")->program;
}

template <class A>
Instruction& first(Program& p) {
  for (Instruction& i : p.code)
    if (std::holds_alternative<A>(i.action))
      return i;
  FAIL("no such instruction");
  return p.code[0];
}

TEST_CASE("a real program passes") {
  CHECK_FALSE(stops(example()));
}

TEST_CASE("an operand read before it is made is found") {
  Program p = example();
  std::reverse(p.code.begin(), p.code.end());
  CHECK(stops(p));
}

TEST_CASE("a value made twice is found") {
  Program p = example();
  p.code.push_back(p.code.back());
  CHECK(stops(p));
}

TEST_CASE("a collective that leaves another layout than its result says is found") {
  Program p = example();
  Instruction& i = first<AllReduce>(p);
  p[i.results[0]].layout.partial = p[i.inputs[0]].layout.partial;
  CHECK(stops(p));
}

TEST_CASE("shard sizes that do not follow from type and layout are found") {
  Program p = example();
  p[p.code[0].results[0]].local_sizes[0] *= 2;
  CHECK(stops(p));
}

TEST_CASE("an output that nothing makes is found") {
  Program p = example();
  p.values.push_back(p[p.outputs[0].value]);
  p.values.back().alias_of = {};
  p.outputs[0].value = {static_cast<int32_t>(p.values.size()) - 1};
  CHECK(stops(p));
}

}  // namespace
}  // namespace mtf
