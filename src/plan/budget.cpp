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

// The largest tensor of a kind that outlives programs, as one device holds it.
Part resident(const Plan& plan, Storage storage, const char* name) {
  Part part{name, plan.resident.bytes_of(storage), {}};
  const Persistent* largest = nullptr;
  for (const Persistent& p : plan.resident.list)
    if (p.value.storage == storage &&
        (!largest || p.value.local_bytes() > largest->value.local_bytes()))
      largest = &p;
  if (largest)
    part.help = fmt::format("split dims of {}, the largest: {}, {} on a device",
                            largest->value.name, show(plan.programs[0].program, largest->value),
                            in_bytes(largest->value.local_bytes()));
  return part;
}

// What lies in the arena while an instruction runs, in bytes: "layers[*]/attention/probs" -> 4096.
std::map<std::string, int64_t> live_at(const PlannedProgram& planned, int at) {
  const Program& p = planned.program;
  const Uses uses(p);
  std::vector<int> last(p.values.size(), -1);
  for (size_t i = 0; i < p.code.size(); ++i)
    for (ValueId v : p.code[i].inputs)
      last[static_cast<size_t>(root(p, v).index)] = static_cast<int>(i);
  std::map<std::string, int64_t> live;
  for (size_t v = 0; v < p.values.size(); ++v)
    if (planned.memory.place[v].segment == MemoryPlan::Segment::arena &&
        planned.memory.place[v].offset >= 0 && uses.maker[v] >= 0 && uses.maker[v] <= at &&
        std::max(last[v], uses.maker[v]) >= at)
      live[folded(p.values[v].name)] += p.values[v].local_bytes();
  return live;
}

// The largest three, "h 1.50 MiB, y 1.00 MiB and z 4.00 KiB".
std::string largest(const std::map<std::string, int64_t>& bytes) {
  std::vector<std::pair<std::string, int64_t>> all(bytes.begin(), bytes.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  all.resize(std::min<size_t>(all.size(), 3));
  std::vector<std::string> words;
  for (const auto& [name, size] : all)
    words.push_back(fmt::format("{} {}", name, in_bytes(size)));
  return listed(words);
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

Part activations(const Plan& plan) {
  Part part{"activations", plan.arena_bytes, {}};
  for (const PlannedProgram& p : plan.programs)
    if (p.memory.arena_bytes == plan.arena_bytes && p.memory.peak_at >= 0) {
      const Instruction& at = p.program.code[static_cast<size_t>(p.memory.peak_at)];
      part.help = fmt::format("most activations live while {} runs{}: {}; split their dims",
                              at.origin.scope, at.phase == Phase::backward ? " backward" : "",
                              largest(live_at(p, p.memory.peak_at)));
      if (p.program.name == "accumulate")
        part.help += ", or raise `train.microbatches`";
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
      activations(plan),
      {"inputs and outputs", plan.io_bytes, "split the batch over an axis, or make it smaller"},
      {"workspace", plan.scratch_bytes, ""}};
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
