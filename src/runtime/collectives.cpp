// The collectives as sequences of exchanges. Every sum is the same binary tree over positions in
// the group, whatever the algorithm: leaves are the ranks' operands, neighbours at distance 1, 2,
// 4, ... meet, the lower position on the left, missing leaves are skipped (adding -0.0 changes
// nothing). Bytes and messages are counted by plan/traffic.cpp in the same way.
#include <bit>
#include <cstring>

#include "base/check.h"
#include "plan/traffic.h"
#include "runtime/collectives_combine.h"
#include "runtime/communicator.h"

namespace mtf {
namespace {

int size_of(const Group& group) {
  return static_cast<int>(group.ranks.size());
}

bool is_power_of_two(int p) {
  return std::has_single_bit(static_cast<unsigned>(p));
}

void copy(std::span<std::byte> to, std::span<const std::byte> from) {
  if (!from.empty())
    std::memcpy(to.data(), from.data(), from.size());
}

// Chunk `i` (or `count` of them) of a buffer of equal chunks.
template <class Byte>
std::span<Byte> chunk(std::span<Byte> all, size_t bytes, int i, int count = 1) {
  return all.subspan(static_cast<size_t>(i) * bytes, static_cast<size_t>(count) * bytes);
}

Side side_at(const Group& group, int bit) {
  return group.position & bit ? Side::right : Side::left;
}

void reduce_by_doubling(Communicator& comm, const Group& group, Reduction reduction, DType dtype,
                        std::span<std::byte> data, std::span<std::byte> received) {
  for (int bit = 1; bit < size_of(group); bit *= 2) {
    const int partner = group.ranks[static_cast<size_t>(group.position ^ bit)];
    comm.exchange(partner, data, partner, received);
    combine(reduction, dtype, side_at(group, bit), data, received);
  }
}

// Recursive halving and its way back. `work` holds the chunks in bit-reversed order of index, so
// that those whose index agrees in the low bits, which is what a step keeps, sends or gets, are
// always neighbours: those with bit k clear come just before those with bit k set.
class Halving {
 public:
  Halving(Communicator& comm, const Group& group, DType dtype, int64_t elements,
          std::span<std::byte> work)
      : comm_(comm), group_(group), dtype_(dtype), chunks_(elements, size_of(group)), work_(work) {}

  // From chunks in order of index to bit-reversed order.
  void load(std::span<const std::byte> data) {
    for_each_chunk([&](size_t place, size_t start, size_t size) {
      copy(work_.subspan(place, size), data.subspan(start, size));
    });
  }

  void store(std::span<std::byte> data) const {
    for_each_chunk([&](size_t place, size_t start, size_t size) {
      copy(data.subspan(start, size), work_.subspan(place, size));
    });
  }

  // Returns the sum of this rank's own chunk. Overwrites up to half of `received`.
  std::span<const std::byte> reduce(Reduction reduction, std::span<std::byte> received) {
    for (int bit = 1; bit < size_of(group_); bit *= 2) {
      const size_t keep = held_by(group_.position, bit), give = held_by(group_.position ^ bit, bit);
      const Side side = side_at(group_, bit);
      const size_t kept_at = side == Side::left ? mine_ : mine_ + give;
      const size_t given_at = side == Side::left ? mine_ + keep : mine_;
      exchange(bit, work_.subspan(given_at, give), received.first(keep));
      combine(reduction, dtype_, side, work_.subspan(kept_at, keep), received.first(keep));
      mine_ = kept_at;
    }
    return work_.subspan(mine_, held_by(group_.position, size_of(group_) / 2));
  }

  // From the own chunk to all of them, the largest exchange with the nearest partner.
  void gather() {
    for (int bit = size_of(group_) / 2; bit >= 1; bit /= 2) {
      const size_t have = held_by(group_.position, bit), get = held_by(group_.position ^ bit, bit);
      const size_t get_at = side_at(group_, bit) == Side::left ? mine_ + have : mine_ - get;
      exchange(bit, work_.subspan(mine_, have), work_.subspan(get_at, get));
      mine_ = std::min(mine_, get_at);
    }
  }

 private:
  // Bytes of the chunks that a position keeps in the step of this bit.
  size_t held_by(int position, int bit) const {
    return bytes(chunks_.congruent(position % (2 * bit), 2 * bit));
  }

  size_t bytes(int64_t elements) const {
    return static_cast<size_t>(elements * mtf::size_of(dtype_));
  }

  void exchange(int bit, std::span<const std::byte> out, std::span<std::byte> in) {
    const int partner = group_.ranks[static_cast<size_t>(group_.position ^ bit)];
    comm_.exchange(partner, out, partner, in);
  }

  // f(offset in `work`, offset in order of index, size), all in bytes.
  template <class F>
  void for_each_chunk(F f) const {
    size_t place = 0;
    const int p = size_of(group_);
    for (int i = 0, reversed = 0; i < p; ++i) {
      const size_t size = bytes(chunks_.size(reversed));
      f(place, bytes(chunks_.start(reversed)), size);
      place += size;
      int bit = p / 2;  // add one from the high end
      for (; reversed & bit; bit /= 2)
        reversed ^= bit;
      reversed |= bit;
    }
  }

  Communicator& comm_;
  const Group& group_;
  DType dtype_;
  Chunks chunks_;
  std::span<std::byte> work_;
  size_t mine_ = 0;  // where in `work_` the chunks that this rank still holds begin
};

// Equal operands in order of position; the result replaces the first.
void fold(const Group& group, Reduction reduction, DType dtype, std::span<std::byte> operands) {
  const int p = size_of(group);
  const size_t bytes = operands.size() / static_cast<size_t>(p);
  for (int bit = 1; bit < p; bit *= 2)
    for (int i = 0; i + bit < p; i += 2 * bit)
      combine(reduction, dtype, Side::left, chunk(operands, bytes, i),
              chunk(operands, bytes, i + bit));
}

}  // namespace

void all_reduce(Communicator& comm, const Group& group, Reduction reduction, Algorithm algorithm,
                DType dtype, std::span<std::byte> data, std::span<std::byte> staging) {
  const int p = size_of(group);
  if (p == 1)
    return;
  CHECK(algorithm == Algorithm::gather || is_power_of_two(p));
  switch (algorithm) {
    case Algorithm::doubling:
      return reduce_by_doubling(comm, group, reduction, dtype, data, staging.first(data.size()));
    case Algorithm::halving: {
      const int64_t elements = static_cast<int64_t>(data.size()) / size_of(dtype);
      Halving halving(comm, group, dtype, elements, staging.first(data.size()));
      halving.load(data);
      halving.reduce(reduction, data);
      halving.gather();
      return halving.store(data);
    }
    case Algorithm::gather: {
      const std::span<std::byte> all = staging.first(data.size() * static_cast<size_t>(p));
      copy(chunk(all, data.size(), group.position), data);
      all_gather(comm, group, all);
      fold(group, reduction, dtype, all);
      return copy(data, all.first(data.size()));
    }
  }
}

void reduce_scatter(Communicator& comm, const Group& group, Algorithm algorithm, DType dtype,
                    std::span<std::byte> all, std::span<std::byte> staging) {
  const int p = size_of(group);
  if (p == 1)
    return;
  CHECK(all.size() % static_cast<size_t>(p * size_of(dtype)) == 0);
  const std::span<std::byte> mine = chunk(all, all.size() / static_cast<size_t>(p), group.position);
  const std::span<std::byte> work = staging.first(all.size());
  if (algorithm == Algorithm::gather) {
    all_to_all(comm, group, all, work);
    fold(group, Reduction::sum, dtype, work);
    return copy(mine, work.first(mine.size()));
  }
  CHECK(is_power_of_two(p));
  Halving halving(comm, group, dtype, static_cast<int64_t>(all.size()) / size_of(dtype), work);
  halving.load(all);
  copy(mine, halving.reduce(Reduction::sum, all));
}

void all_gather(Communicator& comm, const Group& group, std::span<std::byte> all) {
  const int p = size_of(group), me = group.position;
  const size_t bytes = all.size() / static_cast<size_t>(p);
  if (is_power_of_two(p)) {
    for (int have = 1; have < p; have *= 2) {
      const int mine = me / have * have, theirs = mine ^ have;
      const int partner = group.ranks[static_cast<size_t>(me ^ have)];
      comm.exchange(partner, chunk(all, bytes, mine, have), partner,
                    chunk(all, bytes, theirs, have));
    }
    return;
  }
  const int next = group.ranks[static_cast<size_t>((me + 1) % p)];
  const int previous = group.ranks[static_cast<size_t>((me + p - 1) % p)];
  for (int step = 0; step < p - 1; ++step)
    comm.exchange(next, chunk(all, bytes, (me + p - step) % p), previous,
                  chunk(all, bytes, (me + p - step - 1) % p));
}

void all_to_all(Communicator& comm, const Group& group, std::span<const std::byte> out,
                std::span<std::byte> in) {
  const int p = size_of(group), me = group.position;
  const size_t bytes = out.size() / static_cast<size_t>(p);
  copy(chunk(in, bytes, me), chunk(out, bytes, me));
  for (int step = 1; step < p; ++step) {
    const int to = (me + step) % p, from = (me + p - step) % p;
    comm.exchange(group.ranks[static_cast<size_t>(to)], chunk(out, bytes, to),
                  group.ranks[static_cast<size_t>(from)], chunk(in, bytes, from));
  }
}

void shift(Communicator& comm, const Group& group, int offset, bool wrap,
           std::span<const std::byte> out, std::span<std::byte> in) {
  const int p = size_of(group);
  const auto neighbour = [&](int distance) {  // rank, or -1 past an end
    const int place = group.position + distance;
    if (!wrap && (place < 0 || place >= p))
      return -1;
    return group.ranks[static_cast<size_t>((place % p + p) % p)];
  };
  const int to = neighbour(offset), from = neighbour(-offset);
  if (to == comm.rank())
    return copy(in, out);
  if (from < 0 && !in.empty())
    std::memset(in.data(), 0, in.size());
  comm.exchange(to, to < 0 ? std::span<const std::byte>{} : out, from,
                from < 0 ? std::span<std::byte>{} : in);
}

}  // namespace mtf
