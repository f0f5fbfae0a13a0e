// mtf train, mtf eval: what is printed while programs run.
#include <fmt/format.h>

#include <cmath>
#include <csignal>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/run_record.h"
#include "runtime/agreement.h"
#include "runtime/trainer.h"

namespace mtf {
namespace {

volatile std::sig_atomic_t stop_asked = 0;
void ask_stop(int) {
  stop_asked = 1;
}

// Refuses to start over in a directory that holds a run, to resume where there is none, and to
// train what could not be saved. Makes the directory.
void check_directory(const std::string& directory, bool resume, int64_t step_bytes, int64_t keep) {
  const std::vector<int64_t> steps = saved_steps(directory);
  if (resume && steps.empty())
    throw Failure(Exit::bad_input, directory + " holds no saved step to resume from");
  if (!resume && !steps.empty())
    throw Failure(
        Exit::environment,
        fmt::format("{} already holds a run (step {}): continue it with --resume, or name "
                    "another with --set train.checkpoint.directory=...",
                    directory, steps[0]));
  const int64_t needed = step_bytes * (keep + 1 - static_cast<int64_t>(steps.size()));
  const int64_t free = free_bytes(directory);
  if (free < needed)
    throw Failure(
        Exit::environment,
        fmt::format("{} has {} free, and its saved steps need {} ({} each, {} kept and one in "
                    "the making)",
                    directory, in_bytes(free), in_bytes(needed), in_bytes(step_bytes), keep));
  make_directories(directory);
}

std::string left(double seconds) {
  const auto s = static_cast<int64_t>(seconds + 0.5);
  return s < 100    ? fmt::format("{} s", s)
         : s < 6000 ? fmt::format("{} min", (s + 30) / 60)
                    : fmt::format("{:.1f} h", seconds / 3600);
}

// The progress line, and a line of metrics.jsonl for each step.
class Progress {
 public:
  Progress(const Spec& spec, const Plan& plan, Backend& backend, RunRecord& record, bool speaks)
      : spec_(spec),
        backend_(backend),
        record_(record),
        speaks_(speaks),
        entries_(spec.data && spec.data->kind == DataSpec::Kind::text ? "tokens" : "entries") {
    for (size_t i = 0; i < plan.programs.size(); ++i)
      for (const Instruction& instruction : plan.programs[i].program.code)
        flops_ += static_cast<double>(plan.runs_per_step[i]) * instruction.flops;
  }

  void step(const StepReport& r) {
    if (!speaks_)
      return;
    if (peak_ == 0)  // after the first step: a run begins with its work
      peak_ = backend_.peak_flops();
    record_.step(r, flops_ / r.seconds, peak_);
    seconds_ += r.seconds;
    counted_ += r.entries;
    ++steps_;
    const bool due =
        r.step == 1 || r.step == r.steps || r.step % spec_.train->log_every == 0 || r.skipped;
    if (!due)
      return;
    const double each = seconds_ / static_cast<double>(steps_);
    fmt::print("step {:>{}}/{}  loss {:.4f}  {:.0f} {}/s  {:.0f} % of peak  {} left{}\n", r.step,
               std::to_string(r.steps).size(), r.steps, r.loss, counted_ / seconds_, entries_,
               100 * flops_ / each / peak_, left(each * static_cast<double>(r.steps - r.step)),
               !r.skipped              ? ""
               : std::isfinite(r.loss) ? "  skipped: gradient not finite"
                                       : "  skipped: loss not finite");
    std::fflush(stdout);
    seconds_ = counted_ = 0;
    steps_ = 0;
  }

  void evaluated(const EvalReport& r) {
    record_.evaluated(r);
    if (!speaks_)
      return;
    fmt::print("step {}  held-out loss {:.4f}", r.step, r.loss);
    if (!std::isnan(r.accuracy))
      fmt::print("  accuracy {:.2f} %", 100 * r.accuracy);
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  const Spec& spec_;
  Backend& backend_;
  RunRecord& record_;
  bool speaks_;
  std::string_view entries_;
  double flops_ = 0, peak_ = 0;  // of this rank: a step's, and a second's at most
  double seconds_ = 0, counted_ = 0;
  int64_t steps_ = 0;
};

int train_rank(Rank& rank, const Options& o, const Spec& spec, const Plan& plan) {
  const std::string directory = run_directory(spec);
  std::optional<Feed> feed;
  std::optional<Session> session;
  together(*rank.communicator, [&] {
    feed.emplace(spec, plan);
    if (rank.first())
      check_directory(directory, o.resume, saved_bytes(plan), spec.train->checkpoint.keep);
    session.emplace(plan, *rank.backend, *rank.communicator);
  });
  RunRecord record(rank.first() ? directory : "", spec, plan);
  Progress progress(spec, plan, *rank.backend, record, rank.first());
  if (rank.first())
    fmt::print("{} on {}: {} parameters, {} a rank, plan {:016x}\n", spec.name,
               plan.mesh.to_string(), with_commas(record.parameters()),
               in_bytes(session->device().allocated_bytes()), plan.digest);
  Listener listener;
  listener.step = [&](const StepReport& r) { progress.step(r); };
  listener.evaluated = [&](const EvalReport& r) { progress.evaluated(r); };
  listener.passed_over = [&](const std::string& reason) { warn_of_passed_over(rank, reason); };
  listener.started = [&](int64_t step) {
    record.start(step);
    if (rank.first() && step > 0)
      fmt::print("resumed after step {} of {}\n", step, directory);
  };
  listener.stop = [] { return stop_asked != 0; };
  const int64_t done =
      train(*session, {spec, *feed, directory, record.run_id(), o.resume}, listener);
  record.finish(*session);
  if (rank.first())
    fmt::print("saved step {} in {}\n", done, directory);
  return static_cast<int>(done < spec.train->steps ? Exit::stopped : Exit::ok);
}

int eval_rank(Rank& rank, const Options& o, const Spec& spec, const Plan& plan) {
  std::optional<Feed> feed;
  std::optional<Session> session;
  together(*rank.communicator, [&] {
    feed.emplace(spec, plan);
    session.emplace(plan, *rank.backend, *rank.communicator);
    load_weights(rank, *session, o, spec);
  });
  const EvalReport r = evaluate(*session, *feed, 0);
  if (rank.first()) {
    fmt::print("loss {:.6f}  perplexity {:.4f}", r.loss, std::exp(r.loss));
    if (!std::isnan(r.accuracy))
      fmt::print("  accuracy {:.2f} %", 100 * r.accuracy);
    fmt::print("  over {:.0f} entries\n", r.entries);
  }
  return 0;
}

}  // namespace

int train_command(const Options& o) {
  std::signal(SIGUSR1, ask_stop);
  std::signal(SIGTERM, ask_stop);
  return run_job(o, Job::train, [&](Rank& rank, const Spec& spec, const Plan& plan) {
    return train_rank(rank, o, spec, plan);
  });
}

int eval_command(const Options& o) {
  return run_job(o, Job::eval, [&](Rank& rank, const Spec& spec, const Plan& plan) {
    return eval_rank(rank, o, spec, plan);
  });
}

}  // namespace mtf
