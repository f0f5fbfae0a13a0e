#include "training.h"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <mutex>

#include "lifetimes.h"
#include "plan/lower.h"
#include "runtime/thread_communicator.h"
#include "runtime/thread_pool.h"
#include "runtime/trainer.h"

namespace mtf {
namespace {

// Counts what is allocated. With `poison` every kernel finds NaN in all bytes of the arena that
// hold no value it may read. Kernels are prepared program by program, in the order of their
// instructions.
class CountingBackend final : public Backend {
 public:
  CountingBackend(CpuBackend& inner, const Plan& plan, bool poison) : inner_(inner) {
    for (const PlannedProgram& p : plan.programs) {
      const std::vector<Stay> stays = arena_stays(p);
      for (size_t i = 0; i < p.program.code.size(); ++i)
        if (std::holds_alternative<Compute>(p.program.code[i].action))
          dead_.push_back(poison ? dead_ranges(stays, static_cast<int>(i), plan.arena_bytes)
                                 : std::vector<Stretch>{});
    }
  }
  std::byte* allocate(int64_t bytes) override {
    allocated += bytes;
    return inner_.allocate(bytes);
  }
  void release(std::byte* p, int64_t bytes) override { inner_.release(p, bytes); }
  void upload(std::byte* device, std::span<const std::byte> host) override {
    inner_.upload(device, host);
  }
  void download(std::span<std::byte> host, const std::byte* device) override {
    inner_.download(host, device);
  }
  Kernel prepare(const KernelCall& call) override {
    return [this, kernel = inner_.prepare(call), dead = dead_[prepared_++]](const KernelRun& run) {
      for (const Stretch& r : dead)
        std::memset(arena + r.offset, 0xff, static_cast<size_t>(r.bytes));
      kernel(run);
    };
  }
  Team& team() override { return inner_.team(); }
  double peak_flops() override { return inner_.peak_flops(); }

  int64_t allocated = 0;
  std::byte* arena = nullptr;

 private:
  CpuBackend& inner_;
  std::vector<std::vector<Stretch>> dead_;  // by compute instruction of all programs
  size_t prepared_ = 0;
};

// Copies a rank's shard into the whole tensor, padding left out. False if padding is not 0.
bool put_shard(const View& v, std::span<const std::byte> shard, std::vector<std::byte>& whole) {
  size_t elements = 1;
  for (int64_t w : v.whole)
    elements *= static_cast<size_t>(w);
  const auto bytes = static_cast<size_t>(size_of(v.dtype));
  whole.resize(elements * bytes);
  const size_t local = shard.size() / bytes;
  const std::vector<std::byte> zero(bytes);
  bool good = true;
  for (size_t i = 0; i < local; ++i) {
    size_t rest = i, at = 0, stride = 1;
    bool padding = false;
    for (size_t d = v.size.size(); d-- > 0;) {
      const int64_t index =
          v.origin[d] + static_cast<int64_t>(rest % static_cast<size_t>(v.size[d]));
      padding = padding || index >= v.whole[d];
      at += static_cast<size_t>(index) * stride;
      rest /= static_cast<size_t>(v.size[d]);
      stride *= static_cast<size_t>(v.whole[d]);
    }
    if (padding)
      good = good && std::memcmp(shard.data() + i * bytes, zero.data(), bytes) == 0;
    else
      std::memcpy(whole.data() + at * bytes, shard.data() + i * bytes, bytes);
  }
  return good;
}

class Run {
 public:
  Run(const Spec& spec, const Plan& plan, const Machine& machine, Outcome& outcome)
      : spec_(spec),
        plan_(plan),
        machine_(machine),
        outcome_(outcome),
        most_(plan.programs.size()) {}

  void all() {
    run_ranks(plan_.mesh.ranks(), [this](Communicator& c) { rank(c); });
    for (size_t p = 0; p < most_.size(); ++p)
      for (size_t i = 0; i < most_[p].size(); ++i) {
        const Traffic& planned = plan_.programs[p].traffic[i];
        const int64_t runs = most_[p][i].runs;
        if (most_[p][i].sent.bytes != planned.bytes * runs ||
            most_[p][i].sent.messages != planned.messages * runs)
          lie(fmt::format("sent {} bytes in {} messages, planned {} in {}, {} times: {}",
                          most_[p][i].sent.bytes, most_[p][i].sent.messages, planned.bytes,
                          planned.messages, runs,
                          print(plan_.programs[p].program, plan_.programs[p].program.code[i])));
      }
  }

 private:
  void rank(Communicator& c) {
    ThreadPool pool(machine_.threads);
    CpuBackend cpu(pool.team(), machine_.isa);
    CountingBackend backend(cpu, plan_, machine_.poison);
    const Feed feed(spec_, plan_);
    Session session(plan_, backend, c);
    backend.arena = session.device().arena();
    Listener listener;
    listener.step = [&](const StepReport& r) {
      if (c.rank() == 0)
        outcome_.losses.push_back(r.loss);
    };
    train(session, {spec_, feed, "", "", false}, listener);
    const std::lock_guard lock(mutex_);
    if (backend.allocated != plan_.device_bytes(machine_.threads))
      lie(fmt::format("allocated {}, planned {}", backend.allocated,
                      plan_.device_bytes(machine_.threads)));
    for (size_t p = 0; p < plan_.programs.size(); ++p)
      count(session[plan_.programs[p].program.name], p);
    for (const Persistent& p : plan_.resident.list)
      if (p.value.storage == Storage::parameter || p.value.storage == Storage::state)
        if (!put_shard(view_of(program_of(plan_, p), p.value, c.rank()),
                       session.device().resident(p), outcome_.tensors[p.name]))
          lie("the padding of " + p.name + " is not 0");
  }

  void count(const Executor& e, size_t p) {
    const std::span<const Measured> measured = e.measured();
    if (measured.size() != plan_.programs[p].program.code.size())
      lie("not every instruction ran");
    most_[p].resize(measured.size());
    for (size_t i = 0; i < measured.size(); ++i) {
      if (measured[i].runs != measured[0].runs)
        lie("an instruction ran another number of times than its program");
      most_[p][i].runs = measured[i].runs;
      most_[p][i].sent.bytes = std::max(most_[p][i].sent.bytes, measured[i].sent.bytes);
      most_[p][i].sent.messages = std::max(most_[p][i].sent.messages, measured[i].sent.messages);
    }
  }

  void lie(const std::string& text) {
    if (outcome_.lies.empty())
      outcome_.lies = text;
  }

  const Spec& spec_;
  const Plan& plan_;
  Machine machine_;
  Outcome& outcome_;
  std::mutex mutex_;
  std::vector<std::vector<Measured>> most_;  // over ranks, by program and instruction
};

}  // namespace

Outcome train_plan(const Spec& spec, const Plan& plan, Machine machine) {
  Outcome outcome;
  outcome.planned = true;
  for (const PlannedProgram& p : plan.programs) {
    outcome.sums += p.program.sums;
    outcome.exact_sums += p.program.exact_sums;
  }
  Run(spec, plan, machine, outcome).all();
  return outcome;
}

Outcome train_in_threads(const std::string& path, const std::vector<std::string>& overrides,
                         Machine machine) {
  Outcome outcome;
  Sources sources;
  Diagnostics diagnostics;
  std::vector<Override> sets;
  for (const std::string& text : overrides)
    sets.push_back({text, 1});
  const Spec spec = read_spec(sources, path, sets, diagnostics);
  const std::optional<Plan> plan = make_plan(spec, sources, Job::train, diagnostics);
  if (plan && !diagnostics.has_errors())
    outcome = train_plan(spec, *plan, machine);
  for (const Diagnostic& d : diagnostics.all())
    outcome.messages += d.message + "\n";
  return outcome;
}

Outcome train_text(const std::string& yaml, const std::vector<std::string>& overrides,
                   Machine machine) {
  const std::string path = fmt::format("/tmp/mtf-property-{}.yaml", getpid());
  std::ofstream(path) << yaml;
  Outcome outcome = train_in_threads(path, overrides, machine);
  unlink(path.c_str());
  return outcome;
}

std::string difference(const Outcome& a, const Outcome& b) {
  if (a.losses.size() != b.losses.size())
    return fmt::format("{} and {} steps", a.losses.size(), b.losses.size());
  for (size_t i = 0; i < a.losses.size(); ++i)
    if (std::bit_cast<uint64_t>(a.losses[i]) != std::bit_cast<uint64_t>(b.losses[i]))
      return fmt::format("loss of step {}: {:.9g} and {:.9g}", i + 1, a.losses[i], b.losses[i]);
  if (a.tensors.size() != b.tensors.size())
    return "different tensors";
  for (const auto& [name, bytes] : a.tensors) {
    const auto it = b.tensors.find(name);
    if (it == b.tensors.end() || it->second != bytes)
      return "tensor " + name;
  }
  return {};
}

}  // namespace mtf
