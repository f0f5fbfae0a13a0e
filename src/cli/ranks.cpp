#include "cli/ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/error.h"
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

[[noreturn]] void become_mpirun(int ranks, int argc, char** argv) {
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks), "--oversubscribe", "--quiet"};
  if (geteuid() == 0)
    words.push_back("--allow-run-as-root");
  words.push_back("/proc/self/exe");
  char self[4096];
  if (const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1); n > 0)
    words.back() = std::string(self, static_cast<size_t>(n));
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) != "--local")
      words.push_back(argv[i]);
  std::vector<char*> list;
  for (std::string& w : words)
    list.push_back(w.data());
  list.push_back(nullptr);
  execvp("mpirun", list.data());
  throw Failure(Exit::environment, "mpirun could not be started; install it (Debian: openmpi-bin)");
}

}  // namespace

bool speaks() { return launcher_rank() == 0; }

std::optional<Rank> join_ranks(const Options& o, const Mesh& mesh, int argc, char** argv, int& code) {
  const int wanted = mesh.ranks();
  const Launch how = launch();
  if (!how.under_mpirun && wanted > 1) {
    if (o.local)
      become_mpirun(wanted, argc, argv);
    fmt::print(stderr,
               "mtf: error: the mesh {} has {} ranks, and one was started; either of these works:\n"
               "  mpirun -n {} mtf {} {}\n  mtf {} {} --local\n",
               mesh.to_string(), wanted, wanted, o.command, o.specs[0], o.command, o.specs[0]);
    code = static_cast<int>(Exit::spec);
    return std::nullopt;
  }
  if (how.under_mpirun && how.ranks != wanted) {
    if (speaks())
      fmt::print(stderr, "mtf: error: mpirun started {} ranks, the mesh {} has {}; use mpirun -n {}, or --set mesh=...\n",
                 how.ranks, mesh.to_string(), wanted, wanted);
    code = static_cast<int>(Exit::spec);
    return std::nullopt;
  }
  Rank r;
  if (how.under_mpirun) {
    r.communicator = start_mpi(&argc, &argv);
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
