// Spec -> Plan. `validate` makes as much of it as can be wrong, `plan` prints it, `train`, `eval`
// and `infer` run it.
#pragma once

#include <optional>

#include "plan/decoding.h"
#include "plan/plan.h"
#include "spec/spec.h"

namespace mtf {

enum class Job : uint8_t { train, eval, infer };

// What a spec asks for: training if it has `train:`, else inference.
Job natural_job(const Spec&);

// The plan of a job, or nullopt after diagnostics with errors. For Job::infer the mesh, layout and
// dims of `infer:` hold.
std::optional<Plan> make_plan(const Spec&, Sources&, Job, Diagnostics&);

// Reports all that make_plan reports. The programs are fused and laid out in memory only if the
// spec has a budget: nothing else can be wrong from there on.
void check_plan(const Spec&, Sources&, Job, Diagnostics&);

// For a spec with `infer:`: adds the errors that decoding it would meet and that its natural job,
// planned before, did not meet at the same place.
void check_inference(const Spec&, Sources&, Diagnostics&);

}  // namespace mtf
