// The checks of the collectives over MPI: run under mpirun; any failure stops all ranks with exit
// code 1. The argument is the number of neighbouring ranks that share memory.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "collective_checks.h"
#include "runtime/mpi_communicator.h"

int main(int, char** argv) {
  const mtf::Launch launch = mtf::launch();
  const std::unique_ptr<mtf::Communicator> comm = mtf::start_mpi(std::atoi(argv[1]));
  try {
    if (!launch.under_mpirun || launch.ranks != comm->size() || launch.local_size != comm->size() ||
        launch.local_rank != comm->rank())
      throw std::runtime_error("the launcher's environment says something else than MPI");
    for (int64_t elements : {1, 5, 1000, 40000})
      mtf::check_collectives(*comm, elements);
    comm->barrier();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d: %s\n", comm->rank(), e.what());
    comm->abort(1);
  }
  mtf::finish_mpi();
}
