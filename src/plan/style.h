// Warnings about layouts that are legal and wasteful; docs/LANGUAGE.md has the thresholds. Programs
// are taken as partition leaves them, an instruction for each op.
#pragma once

#include <span>
#include <vector>

#include "base/diagnostics.h"
#include "mesh/layout.h"
#include "plan/program.h"
#include "spec/spec.h"

namespace mtf {

// A program and how often a step runs it.
struct StepProgram {
  const Program& program;
  int64_t times = 1;
};

// An axis that a heavy product leaves idle, so that its ranks repeat each other's work; a heavy
// product of which a device has fewer rows, columns or terms than a kernel works on at once.
void check_work(std::span<const StepProgram>, const LayoutRules&, Diagnostics&);

// The same gather or exchange of an activation in every copy of a repeat, because a hard rule
// splits it where its reader cannot be split, or a pattern of `layout.tensors` lets it rest where
// neither its maker nor its reader has it. Conversions that soft rules ask for, reductions, and
// what is made for weights and their gradients are no findings.
void check_conversions(std::span<const StepProgram>, const Spec&, Diagnostics&);

// The dims that an instruction's operands and results have, and the axes that split each.
struct IterationSpace {
  IterationSpace(const Program&, const Instruction&);

  std::vector<DimId> dims;
  std::vector<AxisList> split;
  const AxisList* of(DimId) const;  // null: not there
  DimId user_of(AxisId) const;      // the dim that an axis splits; index -1: it is idle
};

// The rule that gives an axis to a dim, and where it does; null if there is none.
struct RuleUse {
  const LayoutRule* rule = nullptr;
  const LayoutRule::Use* use = nullptr;
};
RuleUse rule_for(const std::vector<LayoutRule>&, const Dim&, AxisId);

}  // namespace mtf
