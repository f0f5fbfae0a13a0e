#include "cli/run_record.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <ctime>

namespace mtf {

RunRecord::RunRecord(const std::string& directory, const Spec& spec, const Plan& plan)
    : directory_(directory),
      run_id_(fmt::format("{:x}-{}", std::time(nullptr), getpid())),
      spec_(spec),
      plan_(plan) {}

void RunRecord::start(int64_t loaded_step) {
  if (!directory_.empty())
    log_.emplace(directory_ + "/metrics.jsonl", loaded_step > 0 ? loaded_step : -1);
}

int64_t RunRecord::parameters() const {
  int64_t all = 0;
  for (const Persistent& p : plan_.resident.list)
    if (p.value.storage == Storage::parameter)
      all += true_elements(plan_, p);
  return all;
}

void RunRecord::step(const StepReport& r, double flops_per_second, double peak_flops) {
  peak_flops_ = peak_flops;
  if (!log_)
    return;
  Fields fields = {{"step", r.step},
                   {"loss", r.loss},
                   {"learning_rate", r.learning_rate},
                   {"entries", r.entries},
                   {"seconds", r.seconds},
                   {"share_of_peak", flops_per_second / peak_flops}};
  if (!std::isnan(r.gradient_norm))
    fields.emplace_back("gradient_norm", r.gradient_norm);
  if (r.skipped)
    fields.emplace_back("skipped", int64_t{1});
  log_->append(fields);
}

void RunRecord::evaluated(const EvalReport& r) {
  if (!log_)
    return;
  Fields fields = {{"step", r.step}, {"held_out_loss", r.loss}, {"entries", r.entries}};
  if (!std::isnan(r.accuracy))
    fields.emplace_back("accuracy", r.accuracy);
  log_->append(fields);
}

void RunRecord::finish(Session& session) const {
  if (directory_.empty())
    return;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::vector<Table> tables;
  for (const PlannedProgram& planned : plan_.programs) {
    const Executor& e = session[planned.program.name];
    Table table{planned.program.name, {}};
    for (size_t i = 0; i < planned.program.code.size(); ++i) {
      const Measured& m = e.measured()[i];
      table.rows.push_back({{"instruction", print(planned.program, planned.program.code[i])},
                            {"runs", m.runs},
                            {"planned_bytes", planned.traffic[i].bytes * m.runs},
                            {"sent_bytes", m.sent.bytes},
                            {"planned_messages", planned.traffic[i].messages * m.runs},
                            {"sent_messages", m.sent.messages},
                            {"flops", planned.program.code[i].flops},
                            {"seconds", m.seconds}});
    }
    tables.push_back(std::move(table));
  }
  write_json(directory_ + "/run.json",
             {{"name", spec_.name},
              {"mesh", plan_.mesh.to_string()},
              {"digest", fmt::format("{:016x}", plan_.digest)},
              {"peak_flops", peak_flops_},
              {"planned_bytes", plan_.device_bytes(session.device().backend().team().size)},
              {"allocated_bytes", session.device().allocated_bytes()},
              {"peak_resident_bytes", static_cast<int64_t>(usage.ru_maxrss) * 1024}},
             tables);
}

}  // namespace mtf
