#include "plan/rule_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace mtf {
namespace {

bool splits(const LayoutRule& rule, const Program& p, const Value& v) {
  for (size_t i = 0; i < v.type.shape.dims.size(); ++i) {
    if (p[v.type.shape.dims[i]].rule != rule.dim)
      continue;
    for (const LayoutRule::Use& use : rule.axes)
      if (std::count(v.layout.split[i].begin(), v.layout.split[i].end(), use.axis))
        return true;
  }
  return false;
}

bool used(const LayoutRule& rule, const Plan& plan) {
  for (const PlannedProgram& planned : plan.programs)
    for (const Value& v : planned.program.values)
      if (splits(rule, planned.program, v))
        return true;
  return false;
}

}  // namespace

void check_rule_names(const Spec& spec, const Graph& graph, Diagnostics& diagnostics) {
  std::set<std::string> tensor_dims, known;
  for (const Dim& d : graph.dims)
    if (d.block_of.index < 0)
      tensor_dims.insert(d.rule.empty() ? d.name : d.rule);
  known = tensor_dims;
  for (const DimSpec& d : spec.dims)
    known.insert(d.name);
  const std::vector<std::string> names(known.begin(), known.end());
  for (const LayoutRule& rule : spec.layout.rules) {
    const auto& repeats = graph.repeat_dims;
    if (!known.count(rule.dim)) {
      const std::string near = nearest(rule.dim, names);
      diagnostics.add({Code::layout_unknown_dim, fmt::format("no tensor has a dim '{}'", rule.dim), rule.span, {},
                       near.empty() ? "the dims are " + listed(names) : "did you mean '" + near + "'?"});
    } else if (!tensor_dims.count(rule.dim) && std::count(repeats.begin(), repeats.end(), rule.dim)) {
      diagnostics.add({Code::spec_later,
                       fmt::format("'{}' counts the copies of a repeat; placing copies on ranks (pipeline stages) belongs "
                                   "to the language, but this version of mtf does not have it yet", rule.dim),
                       rule.span, {}, "leave the rule out, or give its axis size 1"});
    }
  }
}

void check_rule_uses(const Spec& spec, const Plan& plan, Diagnostics& diagnostics) {
  for (const LayoutRule& rule : spec.layout.rules)
    if (!used(rule, plan))
      diagnostics.add({Code::layout_rule_unused, fmt::format("the rule for '{}' splits nothing", rule.dim), rule.span, {}, ""});
}

}  // namespace mtf
