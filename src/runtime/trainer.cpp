#include "runtime/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "model/model.h"
#include "plan/lower.h"
#include "runtime/agreement.h"
#include "runtime/schedule.h"
#include "runtime/true_part.h"

namespace mtf {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// `exponent`: the bits of a number that are all set where it is infinite or NaN.
template <class Bits>
bool all_finite(std::span<const std::byte> numbers, Bits exponent) {
  bool good = true;
  for (size_t i = 0; i < numbers.size(); i += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, numbers.data() + i, sizeof bits);
    good &= (bits & exponent) != exponent;
  }
  return good;
}

class Trainer {
 public:
  Trainer(Session& session, const TrainJob& job, const Listener& listener)
      : session_(session),
        job_(job),
        train_(*job.spec.train),
        listener_(listener),
        in_f64_(numerics_of(job.spec.numerics).statistics() == DType::f64) {}

  int64_t run() {
    int64_t done = start();
    while (done < train_.steps) {
      step(++done);
      const bool last = done == train_.steps;
      if (session_.has("eval") && train_.eval_every > 0 && (done % train_.eval_every == 0 || last))
        listener_.evaluated(evaluate(session_, job_.feed, done));
      const bool stop = agreed(listener_.stop());
      if (last || stop || (train_.checkpoint.every > 0 && done % train_.checkpoint.every == 0))
        keep(done);
      if (stop && !last)
        break;
    }
    return done;
  }

 private:
  int64_t start() {
    int64_t done = 0;
    if (job_.resume) {
      Communicator& c = session_.communicator();
      together(c, [&] {
        const Checkpoint checkpoint = Checkpoint::open(job_.directory, c.rank(), c.size());
        check_seed(checkpoint);
        load(session_, checkpoint, true);
        done = checkpoint.step();
        for (const std::string& reason : checkpoint.passed_over())
          listener_.passed_over(reason);
      });
    } else {
      session_["init"].run();
    }
    listener_.started(done);
    return done;
  }

  // Data and random draws go by the seed: with another one this would be no continuation.
  void check_seed(const Checkpoint& checkpoint) const {
    const auto stored = checkpoint.state().find("seed");
    const std::string mine = std::to_string(train_.seed);
    if (stored != checkpoint.state().end() && stored->second != mine)
      throw Failure(Exit::bad_input, checkpoint.path() + " was trained with seed " +
                                         stored->second + ", and train.seed is " + mine +
                                         "; a run is resumed with its own seed");
  }

  void step(int64_t t) {
    StepReport report;
    report.step = t;
    report.steps = train_.steps;
    const double begin = now();
    double loss_sum = 0, loss_count = 0;
    if (train_.microbatches > 1)
      session_.zero("gradient:");
    Executor& accumulate = session_["accumulate"];
    for (int64_t piece = 0; piece < train_.microbatches; ++piece) {
      job_.feed.fill(accumulate, session_.communicator().rank(), Split::train, t - 1, piece);
      session_.set("accumulate", "driver:step",
                   static_cast<double>(t * train_.microbatches + piece));
      accumulate.run();
      loss_sum = rounded(loss_sum + session_.get("accumulate", "driver:loss_sum"));
      loss_count = rounded(loss_count + session_.get("accumulate", "driver:loss_count"));
    }
    report.loss = rounded(loss_sum / loss_count);
    report.entries = loss_count;
    report.learning_rate = learning_rate(train_.optimizer.learning_rate, t, train_.steps);
    update(t, loss_count, report);
    report.seconds = now() - begin;
    listener_.step(report);
    if (unfinished_ >= 3)
      throw SharedFailure(Exit::non_finite,
                          "loss or gradient were not finite in three steps in a row, the last "
                          "being step " +
                              std::to_string(t) + "; parameters are those of step " +
                              std::to_string(t - 3) + "; a lower learning rate or a clip may help");
  }

  // The update runs only on finite numbers. Every rank has the same loss, and parts of the
  // gradient.
  void update(int64_t t, double loss_count, StepReport& report) {
    if (!std::isfinite(report.loss) || !gradient_is_finite()) {
      report.skipped = true;
      report.gradient_norm = std::nan("");
      ++unfinished_;
      return;
    }
    unfinished_ = 0;
    const auto [beta1, beta2] = train_.optimizer.betas;
    const auto n = static_cast<double>(t);
    session_.set("update", "driver:lr", report.learning_rate);
    session_.set("update", "driver:one_minus_beta1_t", 1 - std::pow(beta1, n));
    session_.set("update", "driver:sqrt_one_minus_beta2_t", std::sqrt(1 - std::pow(beta2, n)));
    session_.set("update", "driver:loss_count", loss_count);
    session_["update"].run();
    report.gradient_norm = session_.get("update", "driver:gradient_norm");
  }

  // On all ranks.
  bool gradient_is_finite() {
    const std::vector<uint8_t> all =
        gather<uint8_t>(session_.communicator(), my_gradient_is_finite());
    return agreed(std::all_of(all.begin(), all.end(), [](uint8_t good) { return good != 0; }));
  }

  bool my_gradient_is_finite() {
    const Plan& plan = session_.plan();
    const int rank = session_.communicator().rank();
    std::vector<std::byte> dense;  // what is padding may be anything
    return std::all_of(plan.resident.list.begin(), plan.resident.list.end(),
                       [&](const Persistent& p) {
                         if (p.value.storage != Storage::gradient)
                           return true;
                         const View view = view_of(program_of(plan, p), p.value, rank);
                         const std::span<const std::byte> part =
                             packed(view, session_.device().resident(p), dense);
                         return view.dtype == DType::f64 ? all_finite(part, uint64_t{0x7ff} << 52)
                                                         : all_finite(part, uint32_t{0xff} << 23);
                       });
  }

  void keep(int64_t done) {
    if (job_.directory.empty())
      return;
    const CheckpointState state = {{"name", job_.spec.name}, {"seed", std::to_string(train_.seed)}};
    save(session_, job_.directory, done, job_.run_id, state,
         static_cast<int>(train_.checkpoint.keep));
    listener_.saved(done, job_.directory);
  }

  // To the type of the programs' statistics, in which losses are added up over microbatches.
  double rounded(double x) const { return in_f64_ ? x : static_cast<float>(x); }

  // Rank 0's answer, on every rank.
  bool agreed(bool mine) {
    spread(session_.communicator(), mine);
    return mine;
  }

  Session& session_;
  const TrainJob& job_;
  const TrainSpec& train_;
  const Listener& listener_;
  const bool in_f64_;
  int unfinished_ = 0;
};

}  // namespace

int64_t train(Session& session, const TrainJob& job, const Listener& listener) {
  return Trainer(session, job, listener).run();
}

EvalReport evaluate(Session& session, const Feed& feed, int64_t step) {
  EvalReport report;
  report.step = step;
  Executor& eval = session["eval"];
  double loss = 0, correct = 0, labels = 0;
  for (int64_t batch = 0; batch < feed.data().validation_batches(); ++batch) {
    feed.fill(eval, session.communicator().rank(), Split::validation, batch);
    const auto valid = static_cast<double>(feed.data().valid_examples(Split::validation, batch));
    session.set("eval", "driver:valid_examples", valid);
    eval.run();
    loss += session.get("eval", "driver:loss_sum");
    const double entries = session.get("eval", "driver:loss_count");
    report.entries += std::isnan(entries) ? valid : entries;
    correct += session.get("eval", "driver:correct");
    labels += session.get("eval", "driver:correct_count");
  }
  report.loss = loss / report.entries;
  report.accuracy = correct / labels;
  return report;
}

}  // namespace mtf
