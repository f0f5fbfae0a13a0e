// Counts what each rank sends, step by step as runtime/collectives.cpp does, and takes the maximum.
#include "plan/traffic.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace mtf {
namespace {

bool is_power_of_two(int p) {
  return std::has_single_bit(static_cast<unsigned>(p));
}

int64_t log2_of(int p) {
  return std::countr_zero(static_cast<unsigned>(p));
}

// Each rank's chunk of this many bytes reaches every other: log2 p messages, or p - 1 in a ring.
Traffic gather_traffic(int64_t chunk_bytes, int p) {
  if (chunk_bytes == 0)
    return {};
  return {(p - 1) * chunk_bytes, is_power_of_two(p) ? log2_of(p) : p - 1};
}

// A different chunk of this many bytes for every other rank.
Traffic pairwise_traffic(int64_t chunk_bytes, int p) {
  return chunk_bytes == 0 ? Traffic{} : Traffic{(p - 1) * chunk_bytes, p - 1};
}

// Halving step `bit` sends the chunks that the partner keeps; the way back sends all that one
// holds.
Traffic halving_traffic(int64_t elements, int64_t element_bytes, int p) {
  const Chunks chunks(elements, p);
  Traffic most;
  for (int position = 0; position < p; ++position) {
    Traffic sent;
    for (int bit = 1; bit < p; bit *= 2)
      for (int holder : {position ^ bit, position}) {
        const int64_t n = chunks.congruent(holder % (2 * bit), 2 * bit);
        sent.bytes += n * element_bytes;
        sent.messages += n > 0;
      }
    most.bytes = std::max(most.bytes, sent.bytes);
    most.messages = std::max(most.messages, sent.messages);
  }
  return most;
}

struct Counter {
  const Mesh& mesh;
  int64_t bytes = 0;  // of all inputs together: packed collectives send one series of messages
  int64_t element_bytes = 1;

  Traffic operator()(const AllReduce& a) const {
    const int p = mesh.size(a.over);
    if (p == 1 || bytes == 0)
      return {};
    switch (a.algorithm) {
      case Algorithm::doubling:
        return {bytes * log2_of(p), log2_of(p)};
      case Algorithm::halving:
        return halving_traffic(bytes / element_bytes, element_bytes, p);
      case Algorithm::gather:
        return gather_traffic(bytes, p);
    }
    return {};
  }
  Traffic operator()(const ReduceScatter& a) const {
    const int p = mesh.size(a.over);
    Traffic sent = pairwise_traffic(bytes / p, p);
    if (a.algorithm != Algorithm::gather && bytes > 0)
      sent.messages = log2_of(p);
    return sent;
  }
  Traffic operator()(const AllGather& a) const { return gather_traffic(bytes, mesh.size(a.over)); }
  Traffic operator()(const AllToAll& a) const {
    const int p = mesh.size(a.over);
    return pairwise_traffic(bytes / p, p);
  }
  Traffic operator()(const Shift& a) const {
    const int p = mesh.size(a.over);
    const bool moves = a.wrap ? a.offset % p != 0 : a.offset != 0 && std::abs(a.offset) < p;
    return moves && bytes > 0 ? Traffic{bytes, 1} : Traffic{};
  }
  Traffic operator()(const Compute&) const { return {}; }
  Traffic operator()(const Slice&) const { return {}; }
};

}  // namespace

Algorithm choose_algorithm(int64_t bytes, int p) {
  constexpr int64_t halving_from_bytes = 32 << 10;
  if (!is_power_of_two(p))
    return Algorithm::gather;
  // Two ranks send as much either way, in one message by doubling.
  return bytes < halving_from_bytes || p == 2 ? Algorithm::doubling : Algorithm::halving;
}

int64_t Chunks::start(int chunk) const {
  return std::min(chunk * each_, elements_);
}

int64_t Chunks::size(int chunk) const {
  return start(chunk + 1) - start(chunk);
}

int64_t Chunks::congruent(int residue, int modulus) const {
  if (each_ == 0)
    return 0;
  const int64_t full = elements_ / each_;  // chunk `full` holds what is left over
  const int64_t count = (full - residue + modulus - 1) / modulus;
  const int64_t rest = full % modulus == residue ? elements_ % each_ : 0;
  return std::max<int64_t>(count, 0) * each_ + rest;
}

Traffic traffic(const Program& program, const Instruction& instruction) {
  Counter counter{program.mesh};
  for (ValueId id : instruction.inputs) {
    const Value& value = program[id];
    counter.element_bytes = size_of(value.type.dtype);
    int64_t n = counter.element_bytes;
    for (int64_t size : value.local_sizes)
      n *= size;
    counter.bytes += n;
  }
  return std::visit(counter, instruction.action);
}

}  // namespace mtf
