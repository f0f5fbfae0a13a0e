// What train, eval and infer share: from the command line to a plan, from a plan to ranks.
#pragma once

#include <functional>

#include "cli/options.h"
#include "cli/ranks.h"
#include "plan/make_plan.h"
#include "runtime/session.h"

namespace mtf {

// Reads the spec, plans the job, joins the ranks and runs the body on each. Returns the exit code.
int run_job(const Options&, Job, const std::function<int(Rank&, const Spec&, const Plan&)>& body);

// The run directory of a spec: train.checkpoint.directory, or runs/NAME.
std::string run_directory(const Spec&);

// Says that a newer step than the one taken was damaged.
void warn_of_passed_over(const Rank&, const std::string& reason);

// Fills parameters, if there are any, from the checkpoint that --checkpoint names, else from the
// newest of the run directory; each rank verifies its part.
void load_weights(const Rank&, Session&, const Options&, const Spec&);

}  // namespace mtf
