// What `mtf plan` says, as data: computed once from the Plan, printed as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/source.h"
#include "plan/plan.h"

namespace mtf {

// Equal collectives of repeated blocks, counted together.
struct CollectiveRow {
  std::string program;  // accumulate, update, ...
  std::string what;     // "all_reduce sum"
  std::string axes;     // "data, model"
  std::string scope;    // "layers[*]/attention/out"
  std::string where;    // "specs/lm.yaml:14"
  std::string shape;    // of the operand on one device
  Phase phase = Phase::forward;
  int64_t times = 0;  // per step
  int64_t bytes = 0;  // sent by one device each time
  int64_t messages = 0;
};

struct AxisTotal {
  std::string axes;
  int64_t bytes = 0, messages = 0, collectives = 0;  // per step and device
};

struct ProgramReport {
  std::string name;
  int64_t runs_per_step = 1;
  int64_t instructions = 0;
  double flops = 0, unique_flops = 0;  // of one run: on one device; of the whole, undivided
  int64_t arena_bytes = 0, peak_live_bytes = 0;
  std::string peak_at;  // the instruction at the peak: "layers[3]/mlp/wide (backward)"
};

struct PlanReport {
  std::string name, mesh;
  int ranks = 1;
  int threads = 1;
  int64_t parameters = 0, parameter_padding = 0;  // numbers in all parameters, undivided
  int64_t parameter_bytes = 0, gradient_bytes = 0, state_bytes = 0, cache_bytes = 0;  // per device
  int64_t io_bytes = 0, arena_bytes = 0, workspace_bytes = 0, total_bytes = 0;
  std::vector<ProgramReport> programs;
  std::vector<CollectiveRow> collectives;
  std::vector<AxisTotal> axes;
  double flops = 0, unique_flops = 0;  // per step
  int64_t sums = 0, exact_sums = 0;
  uint64_t digest = 0;
};

PlanReport report(const Plan&, const Sources&, std::string name, int threads);
std::string as_text(const PlanReport&);
std::string as_json(const PlanReport&);

}  // namespace mtf
