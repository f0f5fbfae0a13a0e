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
  RunRecord(const std::string& directory, const Spec&, const Plan&, bool resume);

  void step(const StepReport&);
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
};

}  // namespace mtf
