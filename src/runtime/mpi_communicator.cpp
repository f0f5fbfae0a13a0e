// Point-to-point messages over MPI. Collectives are ours, because MPI's promise no order of sums.
#include "runtime/mpi_communicator.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "base/error.h"

namespace mtf {
namespace {

constexpr size_t largest_message = size_t{1} << 30;  // MPI counts are int

std::string message_of(int error) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  return {text.data(), static_cast<size_t>(length)};
}

void require(int error, Exit code) {
  if (error != MPI_SUCCESS)
    throw Failure(code, "MPI: " + message_of(error));
}

// Spins for a microsecond, then lets others run between looks: ranks may outnumber cores.
template <class Done>
void wait_until(Done done) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + std::chrono::microseconds(1);
  while (!done())
    if (Clock::now() > until)
      sched_yield();
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void exchange(int destination, std::span<const std::byte> out, int source,
                std::span<std::byte> in) override {
    while (!out.empty() || !in.empty()) {
      const auto out_now = out.first(std::min(out.size(), largest_message));
      const auto in_now = in.first(std::min(in.size(), largest_message));
      exchange_once(destination, out_now, source, in_now);
      out = out.subspan(out_now.size());
      in = in.subspan(in_now.size());
    }
  }

  void barrier() override {
    MPI_Request request;
    require(MPI_Ibarrier(comm_, &request), Exit::peer_died);
    wait({&request, 1});
  }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(comm_, exit_code);
    std::abort();
  }

 private:
  void exchange_once(int destination, std::span<const std::byte> out, int source,
                     std::span<std::byte> in) {
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (!in.empty())
      require(MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, source, 0, comm_,
                        &requests[0]),
              Exit::peer_died);
    if (!out.empty())
      require(MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, destination, 0, comm_,
                        &requests[1]),
              Exit::peer_died);
    wait(requests);
  }

  static void wait(std::span<MPI_Request> requests) {
    wait_until([&] {
      int done = 0;
      require(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                          MPI_STATUSES_IGNORE),
              Exit::peer_died);
      return done != 0;
    });
  }

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
};

// The first of these environment variables that is a number from `least` up, or `otherwise`.
int from_environment(std::initializer_list<const char*> names, int least, int otherwise) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) {
      char* end = nullptr;
      const long value = std::strtol(text, &end, 10);
      if (end != text && *end == '\0' && value >= least && value <= 1 << 24)
        return static_cast<int>(value);
    }
  return otherwise;
}

}  // namespace

std::unique_ptr<Communicator> start_mpi(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  require(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided), Exit::environment);
  if (provided < MPI_THREAD_FUNNELED)
    throw Failure(Exit::environment, "this MPI library does not allow other threads beside it");
  MPI_Comm comm = MPI_COMM_NULL;
  require(MPI_Comm_dup(MPI_COMM_WORLD, &comm), Exit::environment);
  require(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), Exit::environment);
  return std::make_unique<MpiCommunicator>(comm);
}

void finish_mpi() { require(MPI_Finalize(), Exit::environment); }

// Open MPI; MPICH and Intel MPI; Slurm's srun, which sets the size of a step for any MPI.
Launch launch() {
  Launch l;
  l.ranks = from_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1, 0);
  if (l.ranks == 0 && std::getenv("PMIX_RANK"))
    l.ranks = from_environment({"SLURM_STEP_NUM_TASKS"}, 1, 0);
  l.under_mpirun = l.ranks > 0;
  l.ranks = std::max(l.ranks, 1);
  l.local_rank =
      from_environment({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}, 0, 0);
  l.local_size = from_environment({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1, 1);
  l.local_size = std::max(l.local_size, l.local_rank + 1);
  return l;
}

}  // namespace mtf
