// Which bytes of the arena are in use at each instruction, found from the Program alone and not as
// the memory planner does.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace mtf {

struct Stay {
  ValueId value;                  // of its own bytes; index -1: staging of a collective
  int64_t offset = 0, bytes = 0;  // in the arena
  int made = 0, last = 0;         // instructions; last is code.size() for an output
};

std::vector<Stay> arena_stays(const PlannedProgram&);

struct Stretch {
  int64_t offset = 0, bytes = 0;
};

// What nothing may read at this instruction: all of [0, arena_bytes) but the values made before it
// and read by it or later.
std::vector<Stretch> dead_ranges(const std::vector<Stay>&, int instruction, int64_t arena_bytes);

}  // namespace mtf
