// What ranks send each other. Implementations: MPI, threads in one process, and a traced wrapper
// that counts. All collectives are our own trees over send and receive, so that every
// implementation sums in the same order (docs/NUMERICS.md 6): partners at distance 1, 2, 4, ...,
// the lower position's operand on the left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/mesh.h"
#include "plan/program.h"

namespace mtf {

// Point-to-point transport, the only thing that MPI and threads implement differently.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Sends `out` to `destination` and receives `in` from `source` at the same time; either may be
  // empty (then its rank is ignored). Sizes agree on both ends.
  virtual void exchange(int destination, std::span<const std::byte> out, int source,
                        std::span<std::byte> in) = 0;
  virtual void barrier() = 0;
  // Stops every rank with this exit code; does not return.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

// Counts what goes through another communicator.
class TracedCommunicator final : public Communicator {
 public:
  explicit TracedCommunicator(Communicator& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void exchange(int destination, std::span<const std::byte> out, int source,
                std::span<std::byte> in) override;
  void barrier() override { inner_.barrier(); }
  [[noreturn]] void abort(int exit_code) override;

  Traffic sent;  // since construction or the last reset by the caller

 private:
  Communicator& inner_;
};

// The ranks that differ from `rank` only along `axes`, and this rank's place among them. For sums
// the first axis listed is the least significant (inner first); `ranks[position]` is this rank.
struct Group {
  std::vector<int> ranks;
  int position = 0;
};
Group group_of(const Mesh&, int rank, const AxisList& least_significant_first);

// Elements of the type in `data`, combined in place over the group. `staging` has `data`'s size
// (times the group's size for Algorithm::gather). Buffers are planned memory, aligned to elements.
void all_reduce(Communicator&, const Group&, Reduction, Algorithm, DType, std::span<std::byte> data,
                std::span<std::byte> staging);

// `all` holds group-size equal chunks in order of position and is overwritten; on return chunk
// `position` holds its sum. `staging` has the size of `all`. Algorithm::doubling works by halving.
void reduce_scatter(Communicator&, const Group&, Algorithm, DType, std::span<std::byte> all,
                    std::span<std::byte> staging);

// On entry chunk `position` of the equal chunks of `all` is filled; on return all are. Doubling if
// the group's size is a power of two, else a ring.
void all_gather(Communicator&, const Group&, std::span<std::byte> all);

// Chunk j of `out` goes to position j; chunk j of `in` comes from position j. p-1 messages.
void all_to_all(Communicator&, const Group&, std::span<const std::byte> out,
                std::span<std::byte> in);

// `out` goes to position + offset, around the end if `wrap`; where nothing comes, `in` is zero.
void shift(Communicator&, const Group&, int offset, bool wrap, std::span<const std::byte> out,
           std::span<std::byte> in);

}  // namespace mtf
