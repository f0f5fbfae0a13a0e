// Data into programs: opens what `data:` names and gives each input of a program its shard.
#pragma once

#include <optional>

#include "io/dataset.h"
#include "runtime/session.h"
#include "spec/spec.h"

namespace mtf {

class Feed {
 public:
  // Opens the data of the spec for the inputs of all programs of the plan. Ids are checked against
  // the plan's ranges. Failure(Exit::bad_input) if data do not fit.
  Feed(const Spec&, const Plan&);

  // Fills the inputs of a program (of one piece of the batch) for this rank, all but "driver:...",
  // which the trainer sets.
  void fill(Executor&, int rank, Split, int64_t step, int64_t piece = 0) const;

  const Dataset& data() const { return *data_; }

 private:
  std::optional<Dataset> data_;
  std::vector<BatchInput> inputs_;
};

}  // namespace mtf
