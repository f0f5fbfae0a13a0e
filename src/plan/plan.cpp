#include "plan/plan.h"

#include <algorithm>
#include <utility>

#include "plan/fuse.h"
#include "plan/pack.h"
#include "plan/partition.h"
#include "plan/traffic.h"
#include "plan/verify.h"

namespace mtf {

const PlannedProgram* Plan::find(std::string_view program) const {
  for (const PlannedProgram& p : programs)
    if (p.program.name == program)
      return &p;
  return nullptr;
}

int64_t Plan::device_bytes(int threads) const {
  return resident.bytes + io_bytes + arena_bytes + threads * scratch_bytes;
}

std::vector<Program> partition_phases(const std::vector<PhaseGraph>& phases, const Mesh& mesh,
                                      const LayoutRules& rules, const Numerics& numerics,
                                      Diagnostics& diagnostics) {
  std::vector<Program> programs;
  LayoutFindings findings(mesh, rules, numerics);
  for (const PhaseGraph& phase : phases)
    programs.push_back(partition(phase.graph, mesh, rules, phase.name, findings));
  findings.report(diagnostics);
  return programs;
}

const Program& program_of(const Plan& plan, const Persistent& p) {
  for (const PlannedProgram& planned : plan.programs) {
    const Program& program = planned.program;
    for (const auto* list : {&program.inputs, &program.outputs})
      for (const Program::Binding& b : *list)
        if (b.name == p.name)
          return program;
  }
  return plan.programs[0].program;
}

int64_t true_elements(const Plan& plan, const Persistent& p) {
  int64_t n = 1;
  for (DimId d : p.value.type.shape.dims)
    n *= program_of(plan, p)[d].true_size();
  return n;
}

Plan plan_programs(std::vector<Program> programs, std::vector<int64_t> runs_per_step) {
  Plan plan;
  plan.mesh = programs[0].mesh;
  plan.runs_per_step = std::move(runs_per_step);
  plan.scratch_bytes = scratch_bytes_per_thread;
  for (Program& program : programs) {
    PlannedProgram& planned = plan.programs.emplace_back();
    planned.program = std::move(program);
    fuse(planned.program);
    pack(planned.program);
    bind_outputs(planned.program);
    verify(planned.program);
    collect_resident(planned.program, plan.resident);
  }
  for (PlannedProgram& p : plan.programs) {
    p.memory = plan_memory(p.program, plan.resident);
    for (const Instruction& i : p.program.code) {
      p.traffic.push_back(traffic(p.program, i));
      if (const auto* c = std::get_if<Compute>(&i.action))
        plan.scratch_bytes =
            std::max(plan.scratch_bytes, scratch_bytes_per_thread + c->call.workspace_bytes);
    }
    plan.arena_bytes = std::max(plan.arena_bytes, p.memory.arena_bytes);
    plan.io_bytes = std::max(plan.io_bytes, p.memory.input_bytes + p.memory.output_bytes);
    plan.digest = plan.digest * 1099511628211ull ^ digest(p.program);
  }
  return plan;
}

}  // namespace mtf
