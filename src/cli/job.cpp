#include "cli/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/error.h"
#include "cli/commands.h"
#include "runtime/mpi_communicator.h"
#include "runtime/saving.h"

namespace mtf {

std::string run_directory(const Spec& spec) {
  const bool named = spec.train && !spec.train->checkpoint.directory.empty();
  return named ? spec.train->checkpoint.directory : "runs/" + spec.name;
}

void warn_of_passed_over(const Rank& rank, const std::string& reason) {
  if (rank.first())
    fmt::print(stderr, "mtf: warning: passed over a newer step: {}\n", reason);
}

void load_weights(const Rank& rank, Session& session, const Options& o, const Spec& spec) {
  const auto& list = session.plan().resident.list;
  const bool any = std::any_of(list.begin(), list.end(), [](const Persistent& p) {
    return p.value.storage == Storage::parameter;
  });
  if (!any)
    return;
  const std::string path = o.checkpoint.empty() ? run_directory(spec) : o.checkpoint;
  const Checkpoint checkpoint =
      Checkpoint::open(path, rank.communicator->rank(), rank.communicator->size());
  for (const std::string& reason : checkpoint.passed_over())
    warn_of_passed_over(rank, reason);
  load(session, checkpoint, false);
}

namespace {

// Inference and evaluation give the same bits on any mesh, so one process does the work of all
// ranks.
void take_every_axis_as_one(Spec& spec, Job job) {
  const Mesh& mesh = job == Job::infer ? spec.infer.mesh : spec.mesh;
  if (mesh.ranks() > 1)
    fmt::print(stderr,
               "mtf: note: one process was started, so the mesh {} is taken as one rank; results "
               "are the same\n",
               mesh.to_string());
  spec.mesh = spec.infer.mesh = {};
  const int64_t gather_limit = spec.layout.gather_limit;
  spec.layout = spec.infer.layout = {};
  spec.layout.gather_limit = spec.infer.layout.gather_limit = gather_limit;
}

}  // namespace

int run_job(const Options& o, Job job,
            const std::function<int(Rank&, const Spec&, const Plan&)>& body) {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  Sources sources;
  Diagnostics diagnostics;
  Spec spec = read_spec(sources, o.specs[0], o.overrides, diagnostics);
  if (job != Job::train && !o.local && !launch().under_mpirun)
    take_every_axis_as_one(spec, job);
  if (job == Job::train && !spec.train && !diagnostics.has_errors())
    diagnostics.add(
        {Code::spec_missing_key,
         "this spec has no `train:`, so there is nothing to train",
         spec.span("name"),
         {},
         "add for example `train: {steps: 100, optimizer: {sgd: {learning_rate: 0.1}}}`"});
  if (job == Job::eval && spec.data && !spec.data->holds_out())
    diagnostics.add({Code::data_no_held_out,
                     "nothing is held out, so there is nothing to evaluate",
                     spec.span("data"),
                     {},
                     "give `data:` a share `validation:` of text or arrays",
                     Severity::error});
  if (spec.buildable)
    check_ranks(o, job == Job::infer ? spec.infer.mesh : spec.mesh, spec.span("mesh"), diagnostics);
  const std::optional<Plan> plan = make_plan(spec, sources, job, diagnostics);
  const int code = print_diagnostics(sources, diagnostics, o);
  if (!plan || diagnostics.has_errors())
    return leave(code);
  Rank rank = join_ranks(o, *plan);
  return run_rank(rank, [&] { return body(rank, spec, *plan); });
}

}  // namespace mtf
