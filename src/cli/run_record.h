// What a run leaves behind besides checkpoints: metrics.jsonl and run.json in its directory.
#pragma once

#include <optional>
#include <string>

#include "io/metrics.h"
#include "runtime/trainer.h"

namespace mtf {

class RunRecord {
 public:
  // An empty directory: this rank writes nothing.
  RunRecord(const std::string& directory, const Spec&, const Plan&);

  // Opens metrics.jsonl, made or, after a step that was loaded, continued from there.
  void start(int64_t loaded_step);
  // FLOP/s: of this rank in this step, and the most that its cores can do.
  void step(const StepReport&, double flops_per_second, double peak_flops);
  void evaluated(const EvalReport&);
  // run.json: by instruction, what the plan said and what was measured on this rank.
  void finish(Session&) const;

  const std::string& run_id() const { return run_id_; }
  int64_t parameters() const;

 private:
  std::string directory_, run_id_;
  const Spec& spec_;
  const Plan& plan_;
  std::optional<MetricsLog> log_;
  double peak_flops_ = 0;
};

}  // namespace mtf
