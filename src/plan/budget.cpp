#include "plan/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

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

Part activations(const Plan& plan) {
  Part part{"activations", plan.arena_bytes, {}};
  for (const PlannedProgram& p : plan.programs)
    if (p.memory.arena_bytes == plan.arena_bytes && p.memory.peak_at >= 0) {
      const Instruction& at = p.program.code[static_cast<size_t>(p.memory.peak_at)];
      part.help = fmt::format("they peak in {} at {}: split dims of the values there{}",
                              p.program.name, at.origin.scope,
                              p.program.name == "accumulate"
                                  ? ", such as the batch, or raise `train.microbatches`"
                                  : "");
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
  std::vector<Part> parts = {resident(plan, Storage::parameter, "parameters"),
                             resident(plan, Storage::gradient, "gradients"),
                             resident(plan, Storage::state, "optimizer state"),
                             resident(plan, Storage::cache, "key/value cache"),
                             activations(plan),
                             {"inputs and outputs", plan.io_bytes, "make the batch smaller"},
                             {"workspace", plan.scratch_bytes, ""}};
  std::erase_if(parts, [](const Part& p) { return p.bytes == 0; });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
  std::vector<std::string> words;
  for (const Part& p : parts)
    words.push_back(fmt::format("{} {}", p.name, in_bytes(p.bytes)));
  diagnostics.add(
      {Code::budget_exceeded,
       fmt::format("a device needs {} bytes ({}), budget.memory allows {} ({}): {} ({}) "
                   "too many",
                   with_commas(needed), in_bytes(needed), with_commas(allowed), in_bytes(allowed),
                   with_commas(over), in_bytes(over)),
       spec.span("budget.memory"),
       {{{}, "of these are " + listed(words)}},
       parts[0].help});
}

}  // namespace mtf
