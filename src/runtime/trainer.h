// The training loop over programs: init or resume, accumulate, update, eval, save. Prints nothing;
// what happens goes to a listener.
#pragma once

#include <functional>
#include <string>

#include "runtime/feed.h"
#include "runtime/saving.h"

namespace mtf {

struct StepReport {
  int64_t step = 0, steps = 0;
  double loss = 0;           // mean over the valid entries of the step
  double gradient_norm = 0;  // NaN without a clip
  double learning_rate = 0;
  double entries = 0;    // valid entries: tokens of a language model, examples of a classifier
  double seconds = 0;    // of this step
  bool skipped = false;  // numbers were not finite: parameters are as before
};

struct EvalReport {
  int64_t step = 0;
  double loss = 0;      // mean over valid entries; NaN without a loss
  double accuracy = 0;  // of the labels that count; NaN if no output is compared with an input
  double entries = 0;
};

struct Listener {
  std::function<void(const StepReport&)> step = [](const StepReport&) {};
  std::function<void(const EvalReport&)> evaluated = [](const EvalReport&) {};
  std::function<void(int64_t step, const std::string& directory)> saved = [](int64_t,
                                                                             const std::string&) {};
  std::function<void(const std::string& reason)> passed_over = [](const std::string&) {
  };  // a newer step, damaged
  std::function<void(int64_t step)> started = [](int64_t) {
  };                                                  // after that step was loaded; 0: afresh
  std::function<bool()> stop = [] { return false; };  // asked on rank 0 after each step
};

struct TrainJob {
  const Spec& spec;
  const Feed& feed;
  std::string directory;  // of the run; empty: nothing is saved
  std::string run_id;
  bool resume = false;
};

// Runs all steps, or those that are left. SharedFailure(non_finite) after three steps in a row
// whose numbers are not finite. Returns the last step done.
int64_t train(Session&, const TrainJob&, const Listener&);

// Loss and accuracy over all validation batches.
EvalReport evaluate(Session&, const Feed&, int64_t step);

}  // namespace mtf
