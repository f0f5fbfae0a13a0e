// Point-to-point messages: through shared memory to ranks of one node, else over MPI. Collectives
// are ours, because MPI's promise no order of sums.
#include "runtime/mpi_communicator.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/error.h"
#include "runtime/mpi_communicator_rings.h"

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

// The ranks of this node that share memory, each with its place among them.
struct Node {
  std::unique_ptr<SharedRings> rings;  // null: none, all goes over MPI
  std::vector<int> place;              // by rank; -1: not on this node
  int mine = 0, ranks = 1;

  bool reaches(int rank) const { return rings && place[static_cast<size_t>(rank)] >= 0; }
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, Node node) : comm_(comm), node_(std::move(node)) {
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
    std::array<MPI_Request, 1> request;
    require(MPI_Ibarrier(comm_, request.data()), Exit::peer_died);
    wait_until([&] { return all_done(request); });
  }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(comm_, exit_code);
    std::abort();
  }

 private:
  // Each direction takes its own way; both go on together, so no order of ranks can deadlock.
  void exchange_once(int destination, std::span<const std::byte> out, int source,
                     std::span<std::byte> in) {
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (!in.empty() && !node_.reaches(source)) {
      require(MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, source, 0, comm_,
                        &requests[0]),
              Exit::peer_died);
      in = {};
    }
    if (!out.empty() && !node_.reaches(destination)) {
      require(MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, destination, 0, comm_,
                        &requests[1]),
              Exit::peer_died);
      out = {};
    }
    while (!out.empty() || !in.empty())
      wait_until([&] { return move_some(destination, out, source, in) || go_on_with_mpi(); });
    wait_until([&] { return all_done(requests); });
  }

  // Moves what the rings allow now; false if that is nothing.
  bool move_some(int destination, std::span<const std::byte>& out, int source,
                 std::span<std::byte>& in) {
    size_t pushed = 0, popped = 0;
    if (!out.empty())
      pushed = node_.rings->push(node_.mine, node_.place[static_cast<size_t>(destination)], out);
    if (!in.empty())
      popped = node_.rings->pop(node_.place[static_cast<size_t>(source)], node_.mine, in);
    out = out.subspan(pushed);
    in = in.subspan(popped);
    return pushed + popped > 0;
  }

  // MPI works only while it is called: what it still has under way to other nodes must not wait for
  // this rank's neighbours. Returns false.
  bool go_on_with_mpi() const {
    int found = 0;
    if (node_.ranks < size_)
      require(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE),
              Exit::peer_died);
    return false;
  }

  static bool all_done(std::span<MPI_Request> requests) {
    int done = 0;
    require(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        Exit::peer_died);
    return done != 0;
  }

  MPI_Comm comm_;
  Node node_;
  int rank_ = 0, size_ = 1;
};

// Collective over `team`: its first rank makes the rings, the others open them; all or none do.
std::unique_ptr<SharedRings> share_rings(MPI_Comm team, int mine, int size) {
  std::array<char, 64> name{};
  if (mine == 0)
    fmt::format_to_n(name.data(), name.size() - 1, "/mtf-{}-{}", getpid(),
                     std::chrono::system_clock::now().time_since_epoch().count());
  std::unique_ptr<SharedRings> rings;
  if (mine == 0)
    rings = SharedRings::create(name.data(), size);
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, team);
  if (mine != 0)
    rings = SharedRings::open(name.data(), size);
  int opened = rings != nullptr, all_opened = 0;
  MPI_Allreduce(&opened, &all_opened, 1, MPI_INT, MPI_MIN, team);
  if (mine == 0)
    SharedRings::remove(name.data());
  return all_opened ? std::move(rings) : nullptr;
}

Node join_node(MPI_Comm comm, int sharing) {
  MPI_Comm node = MPI_COMM_NULL, team = MPI_COMM_NULL;
  int local = 0, size = 0, ranks = 0;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  MPI_Comm_split(node, local / sharing, local, &team);
  MPI_Comm_size(team, &size);
  MPI_Comm_size(comm, &ranks);

  Node result{nullptr, std::vector<int>(static_cast<size_t>(ranks), -1), local % sharing, size};
  std::vector<int> members(static_cast<size_t>(size));
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Allgather(&rank, 1, MPI_INT, members.data(), 1, MPI_INT, team);
  for (int i = 0; i < size; ++i)
    result.place[static_cast<size_t>(members[static_cast<size_t>(i)])] = i;
  if (size > 1)
    result.rings = share_rings(team, result.mine, size);
  MPI_Comm_free(&team);
  MPI_Comm_free(&node);
  return result;
}

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

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string_view all(text, static_cast<size_t>(length));
  return std::string(all.substr(0, all.find_first_of(",\n")));
}

std::unique_ptr<Communicator> start_mpi(int sharing) {
  int provided = MPI_THREAD_SINGLE;
  require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), Exit::environment);
  if (provided < MPI_THREAD_FUNNELED)
    throw Failure(Exit::environment, "this MPI library does not allow other threads beside it");
  MPI_Comm comm = MPI_COMM_NULL;
  require(MPI_Comm_dup(MPI_COMM_WORLD, &comm), Exit::environment);
  require(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), Exit::environment);
  return std::make_unique<MpiCommunicator>(comm, join_node(comm, sharing));
}

void finish_mpi() {
  require(MPI_Finalize(), Exit::environment);
}

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
