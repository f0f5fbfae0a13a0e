#include "plan/make_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "model/decode.h"
#include "model/phases.h"
#include "ops/op.h"
#include "plan/budget.h"
#include "plan/data_checks.h"
#include "plan/names.h"
#include "plan/rule_checks.h"
#include "plan/style.h"

namespace mtf {
namespace {

using Phases = std::vector<PhaseGraph>;

// The phase that has all of the model: the first that a step runs.
const Graph& main_graph(const Phases& phases) {
  return std::find_if(phases.begin(), phases.end() - 1,
                      [](const PhaseGraph& p) { return p.runs_per_step > 0; })
      ->graph;
}

// A sample leaves out the initial values, and all but one parameter of each type from the update.
bool train_phases(const Spec& spec, Sources& sources, const Numerics& numerics, Extent extent,
                  Diagnostics& diagnostics, Phases& out) {
  std::optional<Graph> accumulate = accumulate_graph(spec, sources, numerics, diagnostics);
  if (!accumulate)
    return false;
  if (extent == Extent::whole) {
    const std::optional<Model> model = build_model(spec, sources, numerics, diagnostics);
    out.push_back({"init", init_graph(*model, spec, numerics), 0});
  }
  Graph update = update_graph(*accumulate, *spec.train, numerics, extent);
  out.push_back({"accumulate", std::move(*accumulate), spec.train->microbatches});
  out.push_back({"update", std::move(update), 1});
  return true;
}

bool eval_phase(const Spec& spec, Sources& sources, const Numerics& numerics,
                Diagnostics& diagnostics, int64_t runs_per_step, Phases& out) {
  std::optional<Graph> eval = eval_graph(spec, sources, numerics, diagnostics);
  if (eval)
    out.push_back({"eval", std::move(*eval), runs_per_step});
  return eval.has_value();
}

// Inputs that a gather of any phase reads as indices. Negative labels are allowed where a loss
// picks by them: the picked operand then has all dims of the indices.
std::vector<IdRange> id_ranges(const Phases& phases) {
  std::vector<IdRange> out;
  auto note = [&](const std::string& input, int64_t low, int64_t high) {
    for (IdRange& known : out)
      if (known.input == input) {
        known.low = std::max(known.low, low);
        known.high = std::min(known.high, high);
        return;
      }
    out.push_back({input, low, high});
  };
  for (const PhaseGraph& phase : phases)
    for (const Node& node : phase.graph.nodes) {
      const Node* input =
          node.op->kernel == "gather" ? input_behind(phase.graph, node.inputs[1]) : nullptr;
      if (!input)
        continue;
      const Shape& picked = phase.graph[node.inputs[0]].type.shape;
      const Shape& ids = phase.graph[node.inputs[1]].type.shape;
      const bool pick = !ids.dims.empty() && std::all_of(ids.dims.begin(), ids.dims.end(),
                                                         [&](DimId d) { return picked.has(d); });
      note(*input->attrs.get<std::string>("name"), pick ? INT32_MIN : 0,
           phase.graph[*node.attrs.get<DimId>("over")].true_size());
    }
  return out;
}

// ---- inference ---------------------------------------------------------------------------------

bool decode_phases(const Spec& spec, const Graph& forward, const Decoding& decoding,
                   Diagnostics& diagnostics, Phases& out, LayoutRules& rules) {
  if (!check_decoding(spec, forward, decoding, diagnostics))
    return false;
  const int64_t length = forward[forward.find_dim(decoding.along)].true_size();
  const int64_t piece = std::min(length, spec.infer.prefill > 0 ? spec.infer.prefill : 128);
  soften_rules(rules, forward, decoding);
  const Names names(forward);
  for (const Named& o : forward.outputs)
    if (o.name == decoding.logits)  // sampling looks at all of a token's logits
      rules.tensors.push_back({forward[names.of(o.node).base].origin.scope, {}});
  for (const auto& [name, positions] :
       {std::pair<const char*, int64_t>{"prefill", piece}, {"decode", 1}}) {
    std::optional<Graph> graph = decode_graph(
        forward, {decoding.along, decoding.tokens, decoding.logits, positions}, diagnostics);
    if (!graph)
      return false;
    out.push_back({name, std::move(*graph), positions == 1 ? 1 : 0});
  }
  return true;
}

// Evaluations that are asked for where nothing is held out are left out.
bool warn_of_no_held_out(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.data || spec.data->holds_out())
    return false;
  const bool synthetic = spec.data->kind == DataSpec::Kind::synthetic;
  diagnostics.add(
      {Code::data_no_held_out,
       synthetic ? "synthetic data hold nothing out, so that nothing is evaluated"
                 : "nothing is held out, so that nothing is evaluated",
       spec.span("train.eval_every"),
       {},
       synthetic ? "leave `eval_every` out, or train on `text:` or `arrays:`"
                 : "give `data:` a share `validation:`, such as 0.1, or leave `eval_every` out"});
  return true;
}

void check_style(const std::vector<Program>& programs, const std::vector<int64_t>& runs_per_step,
                 const Spec& spec, Diagnostics& diagnostics) {
  std::vector<StepProgram> step;
  for (size_t i = 0; i < programs.size(); ++i)
    if (runs_per_step[i] > 0 && programs[i].name != "update")
      step.push_back({programs[i], runs_per_step[i]});
  check_work(step, spec.layout, diagnostics);
  check_conversions(step, spec, diagnostics);
}

// The steps of a model that are sound, where others are not or it cannot be trained: the errors of
// their data and layout.
void check_sound_part(const Spec& spec, Sources& sources, const Numerics& numerics,
                      Diagnostics& diagnostics) {
  Diagnostics found;
  Graph part = sound_part(spec, sources, numerics);
  const std::set<std::string, std::less<>> words = words_of_model(spec);
  if (!part.inputs.empty())
    check_data(spec, part, words, found);
  check_rule_names(spec, part, words, found);
  Phases phases;
  phases.push_back({"part", std::move(part), 1});
  partition_phases(phases, spec.mesh, spec.layout, numerics, found);
  for (const Diagnostic& d : found.all())
    if (d.severity == Severity::error || d.code == Code::layout_inexact)
      diagnostics.add(d);
}

bool says_of_layouts(const Diagnostics& found) {
  return std::any_of(found.all().begin(), found.all().end(), [](const Diagnostic& d) {
    return d.severity == Severity::error || d.code == Code::layout_inexact;
  });
}

// A job as programs; nothing of it has a place in memory yet.
struct Partitioned {
  std::vector<Program> programs;
  std::vector<int64_t> runs_per_step;
  std::vector<IdRange> id_ranges;
  std::set<std::string> parameters;
};

std::set<std::string> parameters_of(const Graph& graph) {
  std::set<std::string> paths;
  for (const Named& p : graph.parameters)
    paths.insert(p.name);
  return paths;
}

std::optional<Partitioned> partitioned(const Spec& spec, const Phases& phases,
                                       const LayoutRules& rules, const Numerics& numerics, Job job,
                                       Diagnostics& diagnostics) {
  const int earlier = diagnostics.errors();
  const Graph& main = main_graph(phases);
  check_rule_names(spec, main, {}, diagnostics);
  check_block_names(spec, main, diagnostics);
  Partitioned out;
  out.programs = partition_phases(phases, spec.mesh, rules, numerics, diagnostics);
  if (diagnostics.errors() > earlier)
    return std::nullopt;
  for (const PhaseGraph& phase : phases)
    out.runs_per_step.push_back(phase.runs_per_step);
  out.id_ranges = id_ranges(phases);
  if (job != Job::infer)
    check_synthetic_ids(spec, out.id_ranges, diagnostics);
  out.parameters = parameters_of(main);
  if (job != Job::infer || spec.has("infer.layout"))
    check_rule_uses(rules, out.programs, diagnostics);
  if (job == Job::infer)
    return out;
  if (earlier == 0)  // a rule may have been dropped for an error
    check_style(out.programs, out.runs_per_step, spec, diagnostics);
  check_patterns(spec, phases, diagnostics);
  return out;
}

std::optional<Partitioned> partitioned_inference(const Spec& spec, Sources& sources,
                                                 Diagnostics& diagnostics) {
  const std::optional<Decoding> decoding = decoding_of(spec);
  if (!decoding) {
    if (!spec.has("infer.outputs"))  // writing plain outputs is not there yet, which was said
      diagnostics.add(
          {Code::infer_undecodable,
           "this model has no tokens to continue",
           spec.span("infer"),
           {},
           "say which input holds them: `infer: {along: DIM, tokens: INPUT, logits: OUTPUT}`"});
    return std::nullopt;
  }
  const Spec inner = for_inference(spec, *decoding);
  const Numerics numerics = numerics_of(inner.numerics);
  LayoutRules rules = inner.layout;
  Phases phases;
  const std::optional<Model> model = build_model(inner, sources, numerics, diagnostics, {1, false});
  if (model && spec.has("infer.dims"))
    check_parameter_shapes(spec, inner, model->graph, diagnostics);
  if (!model || !decode_phases(inner, model->graph, *decoding, diagnostics, phases, rules))
    return std::nullopt;
  std::optional<Partitioned> out =
      partitioned(inner, phases, rules, numerics, Job::infer, diagnostics);
  if (out)
    out->parameters = parameters_of(model->graph);
  return out;
}

std::optional<Partitioned> partitioned(const Spec& spec, Sources& sources, Job job, Extent extent,
                                       Diagnostics& diagnostics) {
  if (!spec.buildable)
    return std::nullopt;
  if (job == Job::infer)
    return partitioned_inference(spec, sources, diagnostics);
  const Numerics numerics = numerics_of(spec.numerics);
  const bool trains = job == Job::train && spec.train;
  const bool evaluates =
      !trains || (spec.train->eval_every > 0 && !warn_of_no_held_out(spec, diagnostics));
  Phases phases;
  bool made = !trains || train_phases(spec, sources, numerics, extent, diagnostics, phases);
  if (made && evaluates)
    made = eval_phase(spec, sources, numerics, diagnostics, trains ? 0 : 1, phases);
  if (!made) {
    check_sound_part(spec, sources, numerics, diagnostics);
    return std::nullopt;
  }
  check_data(spec, main_graph(phases), {}, diagnostics);
  return partitioned(spec, phases, spec.layout, numerics, job, diagnostics);
}

}  // namespace

Job natural_job(const Spec& spec) {
  return spec.train ? Job::train : Job::eval;
}

std::optional<Plan> make_plan(const Spec& spec, Sources& sources, Job job,
                              Diagnostics& diagnostics) {
  std::optional<Partitioned> p = partitioned(spec, sources, job, Extent::whole, diagnostics);
  if (!p)
    return std::nullopt;
  Plan plan = plan_programs(std::move(p->programs), std::move(p->runs_per_step));
  plan.id_ranges = std::move(p->id_ranges);
  plan.parameters = std::move(p->parameters);
  const auto all = diagnostics.all();  // one microbatch is planned where their number is wrong
  if (std::none_of(all.begin(), all.end(),
                   [](const Diagnostic& d) { return d.code == Code::train_microbatches; }))
    check_budget(spec, plan, diagnostics);
  return plan;
}

void check_plan(const Spec& spec, Sources& sources, Job job, Diagnostics& diagnostics) {
  if (spec.memory_budget) {
    make_plan(spec, sources, job, diagnostics);
    return;
  }
  // Where tensors of equal dims lie alike a sample is enough, as long as it is sound.
  if (spec.layout.tensors.empty()) {
    Diagnostics found = diagnostics;
    partitioned(spec, sources, job, Extent::sample, found);
    if (!says_of_layouts(found)) {
      diagnostics = std::move(found);
      return;
    }
  }
  partitioned(spec, sources, job, Extent::whole, diagnostics);
}

void check_inference(const Spec& spec, Sources& sources, Diagnostics& diagnostics) {
  if (!spec.has("infer"))
    return;
  Diagnostics found;
  check_plan(spec, sources, Job::infer, found);
  auto is_known = [&](const Diagnostic& d) {
    return std::any_of(diagnostics.all().begin(), diagnostics.all().end(),
                       [&](const Diagnostic& k) {
                         return k.code == d.code && k.where.file == d.where.file &&
                                k.where.line == d.where.line && k.where.column == d.where.column;
                       });
  };
  const YamlNode* own_dims = spec.document.at("infer.dims");
  auto is_of_infer = [&](const Diagnostic& d) {  // a dim or rule of its own that nothing uses
    if (d.code == Code::layout_rule_unused)
      return spec.has("infer.layout");
    return d.code == Code::dims_unused && own_dims &&
           std::any_of(own_dims->entries.begin(), own_dims->entries.end(), [&](const auto& entry) {
             const SourceSpan& at = entry.first.span;
             return at.file == d.where.file && at.line == d.where.line &&
                    at.column == d.where.column;
           });
  };
  for (Diagnostic d : found.all()) {
    if (is_known(d) || (d.severity != Severity::error && !is_of_infer(d)))
      continue;
    for (const char* own : {"infer.mesh", "infer.layout", "infer.dims"})
      if (spec.has(own))
        d.notes.emplace_back(spec.span(own), fmt::format("`mtf infer` takes this {}, not that of "
                                                         "training",
                                                         own + 6));
    diagnostics.add(std::move(d));
  }
}

}  // namespace mtf
