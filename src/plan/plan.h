// The Plan: all programs of a job with their memory and traffic. There is one way to make one.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "mesh/layout.h"
#include "ops/builder.h"
#include "plan/memory.h"
#include "plan/program.h"

namespace mtf {

struct PlannedProgram {
  Program program;
  MemoryPlan memory;
  std::vector<Traffic> traffic;  // by instruction
};

// One phase of a job, before it is partitioned.
struct PhaseGraph {
  std::string name;  // init, accumulate, update, eval, prefill, decode
  Graph graph;
  int64_t runs_per_step = 1;  // how often the driver runs it in one step
};

// Integers of an input index a dim: those outside [low, high) are refused when data are opened.
struct IdRange {
  std::string input;
  int64_t low = 0, high = 0;
};

struct Plan {
  Mesh mesh;
  std::vector<PlannedProgram> programs;
  std::vector<int64_t> runs_per_step;  // by program
  Resident resident;
  int64_t io_bytes = 0;       // the largest io segment of any program
  int64_t arena_bytes = 0;    // the largest arena
  int64_t scratch_bytes = 0;  // of one thread: what every kernel may use, and the largest workspace
  uint64_t digest = 0;
  std::vector<IdRange> id_ranges;
  std::set<std::string> parameters;  // paths of the model's, those that no program reads included

  const PlannedProgram* find(std::string_view program) const;
  // What an executor allocates for `threads` threads: resident, io, arena, scratch.
  int64_t device_bytes(int threads) const;
};

// One program for each phase, an instruction for each op that computes. The errors of all phases
// are reported, each once; after one the programs are not to be used.
std::vector<Program> partition_phases(const std::vector<PhaseGraph>&, const Mesh&,
                                      const LayoutRules&, const Numerics&, Diagnostics&);

// fuse -> pack -> bind -> verify -> memory -> traffic, for at least one program.
Plan plan_programs(std::vector<Program>, std::vector<int64_t> runs_per_step);

// A program whose dims are those of a value that outlives it, and the numbers in the whole value,
// without padding.
const Program& program_of(const Plan&, const Persistent&);
int64_t true_elements(const Plan&, const Persistent&);

}  // namespace mtf
