// Trains a spec with its ranks as threads of this process, and says everything about it that the
// two laws speak of.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/make_plan.h"
#include "runtime/communicator.h"

namespace mtf {

struct Machine {
  int threads = 1;  // of each rank
  Isa isa = best_isa();
  bool poison = false;  // NaN in every byte of the arena that no instruction may read any more
};

struct Outcome {
  bool planned = false;  // false: the spec was refused
  std::string messages;  // its diagnostics
  int sums = 0, exact_sums = 0;
  std::vector<double> losses;                             // of every step
  std::map<std::string, std::vector<std::byte>> tensors;  // parameters and state, whole
  std::string lies;  // where the run differed from the plan; "" if nowhere
};

// `overrides` as on the command line: "mesh={all: 4}". The spec is a path below the project.
Outcome train_in_threads(const std::string& spec, const std::vector<std::string>& overrides,
                         Machine = {});
Outcome train_plan(const Spec&, const Plan&, Machine = {});
Outcome train_text(const std::string& yaml, const std::vector<std::string>& overrides,
                   Machine = {});

// "" if losses and tensors are the same bits, else the first difference.
std::string difference(const Outcome&, const Outcome&);

}  // namespace mtf
