#include "plan/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "plan/names.h"
#include "plan/uses.h"

namespace mtf {
namespace {

struct Part {
  std::string name;
  int64_t bytes = 0;
  std::string help;
};

// What copies of a step hold: all of their bytes on one device, and one of them.
struct Held {
  int64_t bytes = 0, copies = 0;
  std::string like;  // "f32 [batch=64, hidden/model=512]"
};
using ByStep = std::map<std::string, Held>;  // "layers[*]/attention/probs"

void hold(ByStep& held, const std::string& name, const Program& p, const Value& v) {
  Held& h = held[folded(name)];
  h.bytes += v.local_bytes();
  if (h.copies++ == 0)
    h.like = show(p, v);
}

// The largest three: "layers[*]/mlp/wide 4.00 MiB in 4 of f32 [batch/data=8, d_ff=512] and ...".
std::string largest(const ByStep& held) {
  std::vector<std::pair<std::string, Held>> all(held.begin(), held.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  all.resize(std::min<size_t>(all.size(), 3));
  std::vector<std::string> words;
  for (const auto& [name, h] : all)
    words.push_back(fmt::format("{} {} {}of {}", name, in_bytes(h.bytes),
                                h.copies == 1 ? "" : fmt::format("in {} ", h.copies), h.like));
  return listed(words);
}

Part resident(const Plan& plan, Storage storage, const char* name) {
  ByStep held;
  for (const Persistent& p : plan.resident.list)
    if (p.value.storage == storage)
      hold(held, p.value.name, program_of(plan, p), p.value);
  return {name, plan.resident.bytes_of(storage),
          held.empty() ? "" : fmt::format("split dims of the largest: {}", largest(held))};
}

// What lies in the arena while an instruction runs.
ByStep live_at(const PlannedProgram& planned, int at) {
  const Program& p = planned.program;
  const Uses uses(p);
  std::vector<int> last(p.values.size(), -1);
  for (size_t i = 0; i < p.code.size(); ++i)
    for (ValueId v : p.code[i].inputs)
      last[static_cast<size_t>(root(p, v).index)] = static_cast<int>(i);
  ByStep live;
  for (size_t v = 0; v < p.values.size(); ++v)
    if (planned.memory.place[v].segment == MemoryPlan::Segment::arena &&
        planned.memory.place[v].offset >= 0 && uses.maker[v] >= 0 && uses.maker[v] <= at &&
        std::max(last[v], uses.maker[v]) >= at)
      hold(live, p.values[v].name, p, p.values[v]);
  return live;
}

// Axes that split nothing that any program holds.
std::vector<std::string> idle_axes(const Plan& plan) {
  std::set<AxisId> used;
  for (const PlannedProgram& planned : plan.programs)
    for (const Value& v : planned.program.values)
      for (const AxisList& axes : v.layout.split)
        used.insert(axes.begin(), axes.end());
  std::vector<std::string> idle;
  for (size_t a = 0; a < plan.mesh.axes.size(); ++a)
    if (!used.contains({static_cast<int8_t>(a)}))
      idle.push_back(fmt::format("'{}'", plan.mesh.axes[a].name));
  return idle;
}

Part activations(const Plan& plan, int64_t microbatches) {
  Part part{"activations", plan.arena_bytes, {}};
  for (const PlannedProgram& p : plan.programs)
    if (p.memory.arena_bytes == plan.arena_bytes && p.memory.peak_at >= 0) {
      const Instruction& at = p.program.code[static_cast<size_t>(p.memory.peak_at)];
      part.help =
          fmt::format("most activations live while {} runs{}, so split dims of the largest: {}",
                      at.origin.scope, at.phase == Phase::backward ? " backward" : "",
                      largest(live_at(p, p.memory.peak_at)));
      if (p.program.name == "accumulate")
        part.help += fmt::format("; or raise `train.microbatches`, now {}", microbatches);
      break;
    }
  return part;
}

}  // namespace

void check_budget(const Spec& spec, const Plan& plan, Diagnostics& diagnostics) {
  const int64_t needed = plan.device_bytes(1), allowed = spec.memory_budget.value_or(needed);
  const int64_t over = needed - allowed;
  if (over <= 0)
    return;
  std::vector<Part> parts = {
      resident(plan, Storage::parameter, "parameters"),
      resident(plan, Storage::gradient, "gradients"),
      resident(plan, Storage::state, "optimizer state"),
      resident(plan, Storage::cache, "key/value cache"),
      activations(plan, spec.train ? spec.train->microbatches : 1),
      {"inputs and outputs", plan.io_bytes, "split the batch over an axis, or make it smaller"},
      {"workspace", plan.scratch_bytes,
       "most is the workspace of kernels, which every layout needs: allow more"}};
  std::erase_if(parts, [](const Part& p) { return p.bytes == 0; });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
  std::vector<std::string> words;
  for (const Part& p : parts)
    words.push_back(fmt::format("{} {}", p.name, in_bytes(p.bytes)));
  const std::vector<std::string> idle = idle_axes(plan);
  diagnostics.add(
      {Code::budget_exceeded,
       fmt::format("a device needs {} bytes ({}), budget.memory allows {} ({}): {} ({}) "
                   "too many",
                   with_commas(needed), in_bytes(needed), with_commas(allowed), in_bytes(allowed),
                   with_commas(over), in_bytes(over)),
       spec.span("budget.memory"),
       {{{}, "of these are " + listed(words)}},
       idle.empty() ? parts[0].help
                    : fmt::format("{}; {} split{} nothing yet", parts[0].help, listed(idle),
                                  idle.size() == 1 ? "s" : "")});
}

}  // namespace mtf
