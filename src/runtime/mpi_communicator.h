// Ranks as processes under mpirun. A run calls start_mpi once all that can be checked alone is
// checked, and finish_mpi where it ends well; every other end is Communicator::abort, because
// MPI_Finalize waits forever for a peer that failed.
#pragma once

#include <limits>
#include <memory>

#include "runtime/communicator.h"

namespace mtf {

// Initialises MPI for calls from the main thread. Ranks of one node talk through shared memory, in
// teams of at most `sharing` neighbours (1: all over MPI). Throws a Failure, environment.
std::unique_ptr<Communicator> start_mpi(int sharing = std::numeric_limits<int>::max());

// Name and version of the MPI library; needs no start_mpi.
std::string mpi_library();

// On the success path only, after the last use of the communicator.
void finish_mpi();

// How this process was launched, from the launcher's environment: needs no start_mpi.
struct Launch {
  bool under_mpirun = false;
  int ranks = 1;
  int local_rank = 0, local_size = 1;  // among the ranks on this node
};
Launch launch();

}  // namespace mtf
