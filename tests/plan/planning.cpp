#include "planning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "plan/partition.h"
#include "plan/verify.h"

namespace mtf {
namespace {

std::vector<Override> as_overrides(const std::vector<std::string>& texts) {
  std::vector<Override> out;
  for (const std::string& text : texts)
    out.push_back({text, static_cast<int>(out.size()) + 1});
  return out;
}

std::string errors(const Diagnostics& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics.all())
    if (d.severity == Severity::error)
      out += d.message + "\n";
  return out;
}

}  // namespace

Planned plan_file(const std::string& path, const std::vector<std::string>& overrides, Job job) {
  Planned out;
  Sources sources;
  Diagnostics diagnostics;
  out.spec = read_spec(sources, path, as_overrides(overrides), diagnostics);
  out.plan = make_plan(out.spec, sources, job, diagnostics);
  out.messages = errors(diagnostics);
  out.found.assign(diagnostics.all().begin(), diagnostics.all().end());
  return out;
}

Planned plan_text(const std::string& yaml, const std::vector<std::string>& overrides, Job job) {
  const TextFile file(yaml);
  return plan_file(file.path(), overrides, job);
}

Planned plan_unfused(const std::string& path, const std::vector<std::string>& overrides) {
  Planned out;
  Sources sources;
  Diagnostics diagnostics;
  const Spec& spec = out.spec = read_spec(sources, path, as_overrides(overrides), diagnostics);
  const Numerics numerics = numerics_of(spec.numerics);
  const std::optional<Model> model = build_model(spec, sources, numerics, diagnostics);
  const std::optional<Graph> accumulate = accumulate_graph(spec, sources, numerics, diagnostics);
  out.messages = errors(diagnostics);
  if (!model || !accumulate)
    return out;
  const std::vector<std::pair<std::string, Graph>> phases = {
      {"init", init_graph(*model, spec, numerics)},
      {"accumulate", *accumulate},
      {"update", update_graph(*accumulate, *spec.train, numerics)}};
  Plan plan;
  plan.mesh = spec.mesh;
  plan.scratch_bytes = scratch_bytes_per_thread;
  LayoutFindings findings(spec.mesh, spec.layout, numerics);
  for (const auto& [name, graph] : phases) {
    PlannedProgram planned;
    planned.program = partition(graph, spec.mesh, spec.layout, name, findings);
    bind_outputs(planned.program);
    verify(planned.program);
    collect_resident(planned.program, plan.resident);
    plan.programs.push_back(std::move(planned));
    plan.runs_per_step.push_back(1);
  }
  for (PlannedProgram& p : plan.programs) {
    p.memory = plan_memory(p.program, plan.resident);
    for (const Instruction& i : p.program.code)
      p.traffic.push_back(traffic(p.program, i));
    plan.arena_bytes = std::max(plan.arena_bytes, p.memory.arena_bytes);
    plan.io_bytes = std::max(plan.io_bytes, p.memory.input_bytes + p.memory.output_bytes);
  }
  findings.report(diagnostics);
  out.plan = std::move(plan);
  out.messages = errors(diagnostics);
  return out;
}

TextFile::TextFile(const std::string& text) {
  static std::atomic<int> count = 0;
  path_ = fmt::format("/tmp/mtf-test-{}-{}.yaml", getpid(), count++);
  std::ofstream(path_) << text;
}

TextFile::~TextFile() {
  unlink(path_.c_str());
}

std::vector<std::string> collectives(const Program& p) {
  std::vector<std::string> out;
  for (const Instruction& i : p.code)
    if (!std::holds_alternative<Compute>(i.action))
      out.push_back(print(p, i));
  return out;
}

}  // namespace mtf
