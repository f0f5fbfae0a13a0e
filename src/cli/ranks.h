// How this process came to be one rank of a mesh: alone, under mpirun, or through --local.
#pragma once

#include <memory>
#include <optional>

#include "cli/options.h"
#include "runtime/communicator.h"
#include "runtime/device.h"
#include "runtime/thread_pool.h"

namespace mtf {

// One rank's connection to the others, its threads and its backend.
struct Rank {
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<ThreadPool> threads;
  std::unique_ptr<CpuBackend> backend;
  bool mpi = false;

  bool first() const { return communicator->rank() == 0; }
};

// Checks that as many ranks were started as the mesh has; otherwise says what would work and returns
// the exit code in `code`. With --local outside mpirun this process becomes mpirun.
std::optional<Rank> join_ranks(const Options&, const Mesh&, int argc, char** argv, int& code);

// What a rank does, from here to the end: a Failure on one rank ends all with its code.
int run_rank(Rank&, const std::function<int()>& body);

// Under mpirun only rank 0 speaks before MPI is started.
bool speaks();

}  // namespace mtf
