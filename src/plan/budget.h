// The assertions of `budget:` against the plan.
#pragma once

#include "base/diagnostics.h"
#include "plan/plan.h"
#include "spec/spec.h"

namespace mtf {

// budget.exceeded if a device of one thread needs more memory than the spec allows: by how much,
// what takes most of it, and what would make that less.
void check_budget(const Spec&, const Plan&, Diagnostics&);

}  // namespace mtf
