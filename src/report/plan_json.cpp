// The plan report as JSON: bytes are integers, names as in plan_report.h.
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "report/plan_report.h"

namespace mtf {

std::string as_json(const PlanReport& r) {
  using nlohmann::ordered_json;
  ordered_json j;
  j["format_version"] = 1;
  j["name"] = r.name;
  j["mesh"] = r.mesh;
  j["ranks"] = r.ranks;
  j["digest"] = fmt::format("{:016x}", r.digest);
  j["parameters"] = r.parameters;
  j["parameter_padding"] = r.parameter_padding;
  j["memory"] = {{"parameter_bytes", r.parameter_bytes},
                 {"gradient_bytes", r.gradient_bytes},
                 {"state_bytes", r.state_bytes},
                 {"cache_bytes", r.cache_bytes},
                 {"io_bytes", r.io_bytes},
                 {"arena_bytes", r.arena_bytes},
                 {"workspace_bytes", r.workspace_bytes},
                 {"threads", r.threads},
                 {"total_bytes", r.total_bytes}};
  j["step"] = {{"flops", r.flops}, {"unique_flops", r.unique_flops}};
  j["sums"] = {{"exact", r.exact_sums}, {"all", r.sums}};
  j["programs"] = ordered_json::array();
  for (const ProgramReport& p : r.programs)
    j["programs"].push_back({{"name", p.name},
                             {"runs_per_step", p.runs_per_step},
                             {"instructions", p.instructions},
                             {"flops", p.flops},
                             {"unique_flops", p.unique_flops},
                             {"arena_bytes", p.arena_bytes},
                             {"peak_live_bytes", p.peak_live_bytes},
                             {"peak_at", p.peak_at}});
  j["axes"] = ordered_json::array();
  for (const AxisTotal& a : r.axes)
    j["axes"].push_back({{"axes", a.axes},
                         {"bytes", a.bytes},
                         {"messages", a.messages},
                         {"collectives", a.collectives}});
  j["collectives"] = ordered_json::array();
  for (const CollectiveRow& c : r.collectives)
    j["collectives"].push_back({{"program", c.program},
                                {"what", c.what},
                                {"axes", c.axes},
                                {"scope", c.scope},
                                {"where", c.where},
                                {"operand", c.shape},
                                {"times", c.times},
                                {"bytes", c.bytes},
                                {"messages", c.messages}});
  return j.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace mtf
