// mtf plan: prints what training or inference will allocate, compute and send.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "cli/commands.h"
#include "plan/make_plan.h"
#include "report/plan_report.h"

namespace mtf {
namespace {

// The instructions of a program, each with the line of the spec or library that made it.
std::string listing(const Program& p, const Sources& sources) {
  std::string out = fmt::format("program {} on {}\n", p.name, p.mesh.to_string());
  for (const Instruction& i : p.code) {
    out += "  " + print(p, i);
    if (i.origin.span.file >= 0)
      out += fmt::format("  {}:{}", sources[i.origin.span.file].name, i.origin.span.line);
    out += "\n";
  }
  return out + "\n";
}

}  // namespace

int plan_command(const Options& o) {
  Sources sources;
  Diagnostics diagnostics;
  const Spec spec = read_spec(sources, o.specs[0], o.overrides, diagnostics);
  const std::optional<Plan> plan = make_plan(spec, sources, natural_job(spec), diagnostics);
  check_inference(spec, sources, diagnostics);
  const int code = print_diagnostics(sources, diagnostics, o);
  if (!plan)
    return code;
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int threads = o.threads > 0 ? o.threads : std::max(1, cores / plan->mesh.ranks());
  std::string out;
  if (o.list_program)
    for (const PlannedProgram& p : plan->programs)
      out += listing(p.program, sources);
  const PlanReport r = report(*plan, sources, spec.name, threads);
  out += o.format == "json" ? as_json(r) : as_text(r);
  std::fwrite(out.data(), 1, out.size(), stdout);
  return code;
}

}  // namespace mtf
