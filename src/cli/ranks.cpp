#include "cli/ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "runtime/agreement.h"
#include "runtime/mpi_communicator.h"
#include "runtime/thread_communicator.h"

namespace mtf {
namespace {

// A rank with no other: nothing is ever sent.
class Alone final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void exchange(int, std::span<const std::byte>, int, std::span<std::byte>) override {}
  void barrier() override {}
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }
};

int launcher_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name))
      return std::atoi(rank);
  return 0;
}

[[noreturn]] void become_mpirun(int ranks, const Options& o) {
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks), "--oversubscribe",
                                    "--quiet"};
  if (geteuid() == 0)
    words.push_back("--allow-run-as-root");
  words.push_back("/proc/self/exe");
  char self[4096];
  if (const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1); n > 0)
    words.back() = std::string(self, static_cast<size_t>(n));
  for (const std::string& argument : o.arguments)
    if (argument != "--local")
      words.push_back(argument);
  std::vector<char*> list;
  for (std::string& w : words)
    list.push_back(w.data());
  list.push_back(nullptr);
  execvp("mpirun", list.data());
  throw Failure(Exit::environment, "mpirun could not be started; install it (Debian: openmpi-bin)");
}

// What a process takes besides its plan: the executable, MPI, its buffers.
constexpr int64_t process_bytes = 32 << 20;

void check_fits_here(const Plan& plan) {
  const int64_t here = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  const int64_t each = plan.device_bytes(1) + process_bytes;
  if (each > here / plan.mesh.ranks())
    throw Failure(
        Exit::does_not_fit,
        fmt::format("the mesh {} has {} ranks of {} each, and this machine has {}: --local cannot "
                    "start them here",
                    plan.mesh.to_string(), plan.mesh.ranks(), in_bytes(each), in_bytes(here)));
}

}  // namespace

bool speaks() {
  return launcher_rank() == 0;
}

int leave(int code) {
  constexpr unsigned seconds = 5;
  if (code != 0 && !speaks())
    sleep(seconds);  // a signal ends it
  return code;
}

void check_ranks(const Options& o, const Mesh& mesh, SourceSpan where, Diagnostics& diagnostics) {
  const int wanted = mesh.ranks();
  const Launch how = launch();
  if (how.ranks == wanted || (o.local && !how.under_mpirun))
    return;
  std::string works = fmt::format("`mpirun -n {} mtf {} {}`", wanted, o.command, o.specs[0]);
  if (!how.under_mpirun)
    works += fmt::format(" or `mtf {} {} --local`", o.command, o.specs[0]);
  diagnostics.add({Code::mesh_ranks,
                   fmt::format("the mesh {} has {} rank{}, and {} started", mesh.to_string(),
                               wanted, wanted == 1 ? "" : "s",
                               how.ranks == 1 ? "1 was" : fmt::format("{} were", how.ranks)),
                   where,
                   {},
                   works});
}

Rank join_ranks(const Options& o, const Plan& plan) {
  const Launch how = launch();
  if (!how.under_mpirun && plan.mesh.ranks() > 1) {
    check_fits_here(plan);
    become_mpirun(plan.mesh.ranks(), o);
  }
  Rank r;
  if (how.under_mpirun) {
    r.communicator = start_mpi();
    r.mpi = true;
  } else {
    r.communicator = std::make_unique<Alone>();
  }
  const std::vector<int> cpus = cpus_of_rank(how.local_rank, how.local_size);
  const int threads = o.threads > 0 ? o.threads : std::max(1, static_cast<int>(cpus.size()));
  r.threads = std::make_unique<ThreadPool>(threads, cpus);
  r.backend = std::make_unique<CpuBackend>(r.threads->team(), best_isa());
  return r;
}

int run_rank(Rank& rank, const std::function<int()>& body) {
  int code = 0;
  try {
    code = body();
  } catch (const SharedFailure& f) {
    if (rank.first())
      fmt::print(stderr, "mtf: error: {}\n", f.what());
    code = static_cast<int>(f.code());
  } catch (const Failure& f) {
    if (f.code() != Exit::peer_died)
      fmt::print(stderr, "mtf: error: {}\n", f.what());
    if (rank.mpi)
      rank.communicator->abort(static_cast<int>(f.code()));
    return static_cast<int>(f.code());
  } catch (const std::exception& e) {
    fmt::print(stderr, "mtf: internal error on rank {}: {}\n", rank.communicator->rank(), e.what());
    if (rank.mpi)
      rank.communicator->abort(static_cast<int>(Exit::bug));
    return static_cast<int>(Exit::bug);
  }
  if (rank.mpi) {
    rank.communicator.reset();
    finish_mpi();
  }
  return code;
}

}  // namespace mtf
