// Layout rules against the model as a whole: names that do not exist, rules that split nothing.
#pragma once

#include "base/diagnostics.h"
#include "plan/plan.h"
#include "spec/spec.h"

namespace mtf {

// Errors: a rule for a dim that neither spec nor model has; a rule that places copies of a repeat on
// several ranks, which this version does not do. To be called before partitioning.
void check_rule_names(const Spec&, const Graph&, Diagnostics&);

// Warnings: rules whose axes split no value of any program.
void check_rule_uses(const Spec&, const Plan&, Diagnostics&);

}  // namespace mtf
