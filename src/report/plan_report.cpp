#include "report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/names.h"

namespace mtf {
namespace {

std::string_view word(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::update:
      return "update";
  }
  return "?";
}

std::string place(const Sources& sources, const SourceSpan& span) {
  return span.file < 0 ? std::string() : fmt::format("{}:{}", sources[span.file].name, span.line);
}

std::string joined(const Mesh& mesh, const AxisList& axes) {
  std::string out;
  for (size_t i = axes.size(); i-- > 0;)
    out += (out.empty() ? "" : ", ") + mesh.axes[static_cast<size_t>(axes[i].index)].name;
  return out;
}

struct Describe {
  const Program& p;
  std::string what;
  AxisList axes;
  void operator()(const Compute&) {}
  void operator()(const AllReduce& a) {
    what = a.reduction == Reduction::sum   ? "all_reduce"
           : a.reduction == Reduction::max ? "all_reduce max"
                                           : "all_reduce min";
    axes = a.over;
  }
  void operator()(const AllGather& a) { set("all_gather " + p[a.dim].name, {a.over}); }
  void operator()(const ReduceScatter& a) { set("reduce_scatter " + p[a.dim].name, a.over); }
  void operator()(const AllToAll& a) {
    set("all_to_all " + p[a.concat].name + " to " + p[a.split].name, {a.over});
  }
  void operator()(const Shift& a) { set("shift " + p[a.dim].name, {a.over}); }
  void operator()(const Slice&) {}
  void set(std::string w, AxisList a) {
    what = std::move(w);
    axes = std::move(a);
  }
};

std::string show_operands(const Program& p, const Instruction& i) {
  const std::string first = show(p, p[i.inputs[0]]);
  return i.inputs.size() == 1 ? first
                              : fmt::format("{} values, the first {}", i.inputs.size(), first);
}

void add_collective(PlanReport& r, const Sources& sources, const Program& p, const Instruction& i,
                    const Traffic& t, int64_t times) {
  Describe d{p, {}, {}};
  std::visit(d, i.action);
  if (d.what.empty())
    return;
  CollectiveRow row{p.name,
                    d.what,
                    joined(p.mesh, d.axes),
                    folded(i.origin.scope),
                    place(sources, i.origin.span),
                    show_operands(p, i),
                    i.phase,
                    times,
                    t.bytes,
                    t.messages};
  auto same = [&](const CollectiveRow& o) {
    return o.program == row.program && o.what == row.what && o.axes == row.axes &&
           o.scope == row.scope && o.phase == row.phase && o.bytes == row.bytes &&
           o.shape == row.shape;
  };
  if (auto it = std::find_if(r.collectives.begin(), r.collectives.end(), same);
      it != r.collectives.end())
    it->times += times;
  else
    r.collectives.push_back(row);
  auto axis = std::find_if(r.axes.begin(), r.axes.end(),
                           [&](const AxisTotal& a) { return a.axes == row.axes; });
  if (axis == r.axes.end())
    axis = r.axes.insert(r.axes.end(), {row.axes, 0, 0, 0});
  axis->bytes += times * t.bytes;
  axis->messages += times * t.messages;
  axis->collectives += times;
}

}  // namespace

PlanReport report(const Plan& plan, const Sources& sources, std::string name, int threads) {
  PlanReport r;
  r.name = std::move(name);
  r.mesh = plan.mesh.to_string();
  r.ranks = plan.mesh.ranks();
  r.threads = threads;
  r.digest = plan.digest;
  for (const Persistent& p : plan.resident.list) {
    if (p.value.storage != Storage::parameter)
      continue;
    int64_t stored = 1;
    for (size_t i = 0; i < p.value.local_sizes.size(); ++i)
      stored *= p.value.local_sizes[i] * plan.mesh.size(p.value.layout.split[i]);
    r.parameters += true_elements(plan, p);
    r.parameter_padding += stored - true_elements(plan, p);
  }
  r.parameter_bytes = plan.resident.bytes_of(Storage::parameter);
  r.gradient_bytes = plan.resident.bytes_of(Storage::gradient);
  r.state_bytes = plan.resident.bytes_of(Storage::state);
  r.cache_bytes = plan.resident.bytes_of(Storage::cache);
  r.io_bytes = plan.io_bytes;
  r.arena_bytes = plan.arena_bytes;
  r.workspace_bytes = threads * plan.scratch_bytes;
  r.total_bytes = plan.device_bytes(threads);
  for (size_t k = 0; k < plan.programs.size(); ++k) {
    const PlannedProgram& planned = plan.programs[k];
    const Program& p = planned.program;
    const int64_t times = plan.runs_per_step[k];
    ProgramReport program{p.name,
                          times,
                          static_cast<int64_t>(p.code.size()),
                          0,
                          0,
                          planned.memory.arena_bytes,
                          planned.memory.peak_live_bytes,
                          {}};
    for (size_t i = 0; i < p.code.size(); ++i) {
      program.flops += p.code[i].flops;
      program.unique_flops += p.code[i].unique_flops;
      add_collective(r, sources, p, p.code[i], planned.traffic[i], times);
    }
    if (planned.memory.peak_at >= 0) {
      const Instruction& at = p.code[static_cast<size_t>(planned.memory.peak_at)];
      program.peak_at = fmt::format("{} ({})", at.origin.scope, word(at.phase));
    }
    r.flops += static_cast<double>(times) * program.flops;
    r.unique_flops += static_cast<double>(times) * program.unique_flops;
    r.sums += p.sums;
    r.exact_sums += p.exact_sums;
    r.programs.push_back(std::move(program));
  }
  std::erase_if(r.collectives, [](const CollectiveRow& c) { return c.times == 0; });
  std::erase_if(r.axes, [](const AxisTotal& a) { return a.collectives == 0; });
  return r;
}

std::string as_text(const PlanReport& r) {
  std::string out = fmt::format(
      "{} on {} ({} rank{}), {} parameters{}, plan {:016x}\n\n", r.name, r.mesh, r.ranks,
      r.ranks == 1 ? "" : "s", with_commas(r.parameters),
      r.parameter_padding == 0 ? "" : " and " + with_commas(r.parameter_padding) + " of padding",
      r.digest);
  auto line = [&](std::string_view what, int64_t bytes, const std::string& note = "") {
    if (bytes > 0)
      out += fmt::format("  {:<24}{:>20}  {:>11}{}\n", what, with_commas(bytes), in_bytes(bytes),
                         note.empty() ? "" : "  " + note);
  };
  out += "memory per device, bytes\n";
  line("parameters", r.parameter_bytes);
  line("gradients", r.gradient_bytes);
  line("optimizer state", r.state_bytes);
  line("key/value cache", r.cache_bytes);
  line("inputs and outputs", r.io_bytes);
  for (const ProgramReport& p : r.programs)
    if (p.arena_bytes == r.arena_bytes && r.arena_bytes > 0) {
      line("activations at the peak", p.peak_live_bytes,
           fmt::format("in {}, at {}", p.name, p.peak_at));
      line("left between them", r.arena_bytes - p.peak_live_bytes);
      break;
    }
  line("workspace", r.workspace_bytes,
       fmt::format("{} thread{}", r.threads, r.threads == 1 ? "" : "s"));
  line("total", r.total_bytes, "alignment included");
  out += fmt::format(
      "\nper step and device\n  FLOPs {:.4g}, the whole step {:.4g}, duplicated {:.2f}x\n", r.flops,
      r.unique_flops, r.unique_flops > 0 ? r.flops * r.ranks / r.unique_flops : 1.0);
  for (const AxisTotal& a : r.axes)
    out += fmt::format("  over {}: {} bytes ({}) in {} messages, {} collectives\n", a.axes,
                       with_commas(a.bytes), in_bytes(a.bytes), with_commas(a.messages),
                       with_commas(a.collectives));
  out += fmt::format("  exact: {} of {} sums\n", r.exact_sums, r.sums);
  if (r.collectives.empty())
    return out;
  out += "\ncollectives of a step\n";
  for (const CollectiveRow& c : r.collectives)
    out += fmt::format("  {:>5}x {:<26} {:<12} {:>15} B {:>5} msg  {} {}: {}{}\n", c.times, c.what,
                       c.axes, with_commas(c.bytes), c.messages, c.scope,
                       c.phase == Phase::forward ? "" : word(c.phase), c.shape,
                       c.where.empty() ? "" : "  " + c.where);
  return out;
}

}  // namespace mtf
