#include "plan/make_plan.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/phases.h"
#include "ops/op.h"

namespace mtf {
namespace {

using Phases = std::vector<PhaseGraph>;

bool train_phases(const Spec& spec, Sources& sources, const Numerics& numerics, Diagnostics& diagnostics, Phases& out) {
  BuildOptions options;
  options.microbatches = spec.train->microbatches;
  const std::optional<Model> model = build_model(spec, sources, numerics, diagnostics, options);
  if (!model || diagnostics.has_errors())
    return false;
  std::optional<Graph> accumulate = accumulate_graph(spec, sources, numerics, diagnostics);
  if (!accumulate)
    return false;
  Graph update = update_graph(*accumulate, *spec.train, numerics);
  out.push_back({"init", init_graph(*model, spec, numerics), 0});
  out.push_back({"accumulate", std::move(*accumulate), spec.train->microbatches});
  out.push_back({"update", std::move(update), 1});
  return true;
}

bool eval_phase(const Spec& spec, Sources& sources, const Numerics& numerics, Diagnostics& diagnostics,
                int64_t runs_per_step, Phases& out) {
  std::optional<Graph> eval = eval_graph(spec, sources, numerics, diagnostics);
  if (eval)
    out.push_back({"eval", std::move(*eval), runs_per_step});
  return eval.has_value();
}

// Inputs that a gather reads as indices. Negative labels are allowed where a loss picks by them: the
// picked operand then has all dims of the indices.
std::vector<IdRange> id_ranges(const Graph& graph) {
  std::vector<IdRange> out;
  for (const Node& node : graph.nodes) {
    if (node.op->kernel != "gather")
      continue;
    const Node& ids = graph[node.inputs[1]];
    const auto* name = ids.attrs.get<std::string>("name");
    const auto* over = node.attrs.get<DimId>("over");
    if (ids.op->name != "input" || !name || !over)
      continue;
    const Shape& picked = graph[node.inputs[0]].type.shape;
    bool pick = !ids.type.shape.dims.empty();
    for (DimId d : ids.type.shape.dims)
      pick = pick && picked.has(d);
    out.push_back({*name, pick ? INT32_MIN : 0, graph[*over].size});
  }
  return out;
}

void check_budget(const Spec& spec, const Plan& plan, Diagnostics& diagnostics) {
  if (!spec.memory_budget)
    return;
  const int64_t needed = plan.device_bytes(1);
  if (needed > *spec.memory_budget)
    diagnostics.add({Code::budget_exceeded,
                     fmt::format("a device needs {} bytes ({}), budget.memory allows {} ({})", with_commas(needed),
                                 in_bytes(needed), with_commas(*spec.memory_budget), in_bytes(*spec.memory_budget)),
                     spec.span("budget.memory"), {}, ""});
}

}  // namespace

Job natural_job(const Spec& spec) { return spec.train ? Job::train : Job::eval; }

std::optional<Plan> make_plan(const Spec& spec, Sources& sources, Job job, Diagnostics& diagnostics) {
  if (!spec.buildable)
    return std::nullopt;
  const Numerics numerics = numerics_of(spec.numerics);
  Phases phases;
  if (job == Job::train && spec.train) {
    if (!train_phases(spec, sources, numerics, diagnostics, phases) ||
        (spec.train->eval_every > 0 && !eval_phase(spec, sources, numerics, diagnostics, 0, phases)))
      return std::nullopt;
  } else if (!eval_phase(spec, sources, numerics, diagnostics, 1, phases)) {
    return std::nullopt;
  }
  Plan plan = plan_phases(phases, spec.mesh, spec.layout, numerics, diagnostics);
  if (diagnostics.has_errors())
    return std::nullopt;
  for (const PhaseGraph& phase : phases)
    if (phase.name != "init" && plan.id_ranges.empty())
      plan.id_ranges = id_ranges(phase.graph);
  check_budget(spec, plan, diagnostics);
  return plan;
}

}  // namespace mtf
