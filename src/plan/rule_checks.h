// What a spec names in the model, against the model as a whole: rules and blocks for dims that do
// not exist, rules that split nothing, patterns that match nothing.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "base/diagnostics.h"
#include "plan/plan.h"
#include "spec/spec.h"

namespace mtf {

// Errors: a rule, of any tensor, for a dim that neither spec nor model has; a rule that places
// copies of a repeat on several ranks, which this version does not do. To be called before
// partitioning.
// For a graph that is not all of its model, `other_words` are names that the rest may have.
void check_rule_names(const Spec&, const Graph&,
                      const std::set<std::string, std::less<>>& other_words, Diagnostics&);

// Errors: entries of `numerics.blocks` for a dim that neither spec nor model has.
void check_block_names(const Spec&, const Graph&, Diagnostics&);

// Warnings: patterns of `train.freeze` and of an optimizer's `exclude` that match no parameter, and
// those of `layout.tensors` that match no tensor of any phase.
void check_patterns(const Spec&, const std::vector<PhaseGraph>& phases, Diagnostics&);

// Warnings: rules, those of `layout.tensors` too, whose axes split no value of any program.
void check_rule_uses(const LayoutRules&, const std::vector<Program>&, Diagnostics&);

}  // namespace mtf
