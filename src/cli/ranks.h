// How this process came to be one rank of a mesh: alone, under mpirun, or through --local.
#pragma once

#include <functional>
#include <memory>

#include "base/diagnostics.h"
#include "cli/options.h"
#include "plan/plan.h"
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

// mesh.ranks if another number of ranks was started than the mesh has, with the commands that work.
void check_ranks(const Options&, const Mesh&, SourceSpan mesh, Diagnostics&);

// This process as a rank of the plan. With --local outside mpirun it becomes mpirun, if this
// machine holds that many ranks.
Rank join_ranks(const Options&, const Plan&);

// What a rank does, from here to the end. A SharedFailure is told once; a Failure or an error of
// our own on one rank ends all with its code.
int run_rank(Rank&, const std::function<int()>& body);

// Under mpirun only rank 0 speaks before MPI is started.
bool speaks();

// The exit code of a process that never joined the others. mpirun ends all ranks when the first has
// failed, so those that do not speak wait for the one that does.
int leave(int code);

}  // namespace mtf
