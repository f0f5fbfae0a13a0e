// One writer and one reader a ring, each with a counter of all bytes so far: no locks, no waiting.
#include "runtime/mpi_communicator_rings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>

namespace mtf {

struct alignas(64) SharedRings::Ring {
  std::atomic<uint64_t> pushed{0};
  alignas(64) std::atomic<uint64_t> popped{0};
};

namespace {

constexpr size_t largest_ring = size_t{256} << 10, smallest_ring = size_t{4} << 10;
constexpr size_t segment_limit = size_t{32} << 20;  // a container's /dev/shm often has 64 MiB

size_t pairs(int ranks) {
  return static_cast<size_t>(ranks) * static_cast<size_t>(ranks);
}

// Bytes of one ring, a power of two, so that the whole segment stays within its limit.
size_t ring_bytes(int ranks) {
  return std::min(largest_ring, std::bit_floor(segment_limit / pairs(ranks)));
}

size_t segment_bytes(int ranks, size_t counters_bytes) {
  return pairs(ranks) * (counters_bytes + ring_bytes(ranks));
}

}  // namespace

std::unique_ptr<SharedRings> SharedRings::create(const std::string& name, int ranks) {
  if (ring_bytes(ranks) < smallest_ring)
    return nullptr;
  const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0)
    return nullptr;
  // Reserves the room now: writing to a full /dev/shm later would be a SIGBUS.
  const auto bytes = static_cast<off_t>(segment_bytes(ranks, sizeof(Ring)));
  if (posix_fallocate(file, 0, bytes) != 0) {
    close(file);
    return nullptr;
  }
  std::unique_ptr<SharedRings> rings = map(file, ranks);
  if (rings)
    for (size_t i = 0; i < pairs(ranks); ++i)
      new (rings->memory_ + i * sizeof(Ring)) Ring;
  return rings;
}

std::unique_ptr<SharedRings> SharedRings::open(const std::string& name, int ranks) {
  const int file = shm_open(name.c_str(), O_RDWR, 0);
  return file < 0 ? nullptr : map(file, ranks);
}

void SharedRings::remove(const std::string& name) {
  shm_unlink(name.c_str());
}

std::unique_ptr<SharedRings> SharedRings::map(int file, int ranks) {
  const size_t bytes = segment_bytes(ranks, sizeof(Ring));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED)
    return nullptr;
  return std::unique_ptr<SharedRings>(new SharedRings(static_cast<std::byte*>(memory), ranks));
}

SharedRings::~SharedRings() {
  munmap(memory_, segment_bytes(ranks_, sizeof(Ring)));
}

SharedRings::Ring& SharedRings::ring(int from, int to) {
  const size_t pair = static_cast<size_t>(from * ranks_ + to);
  return *std::launder(reinterpret_cast<Ring*>(memory_ + pair * sizeof(Ring)));
}

std::byte* SharedRings::data(int from, int to) {
  const size_t pair = static_cast<size_t>(from * ranks_ + to);
  return memory_ + pairs(ranks_) * sizeof(Ring) + pair * ring_bytes(ranks_);
}

size_t SharedRings::push(int from, int to, std::span<const std::byte> out) {
  Ring& r = ring(from, to);
  const size_t capacity = ring_bytes(ranks_);
  const uint64_t pushed = r.pushed.load(std::memory_order_relaxed);
  const size_t room = capacity - (pushed - r.popped.load(std::memory_order_acquire));
  // A quarter at a time, so that the reader copies while the writer does.
  const size_t n = std::min({out.size(), room, capacity / 4});
  const size_t at = pushed % capacity, before_end = std::min(n, capacity - at);
  std::memcpy(data(from, to) + at, out.data(), before_end);
  std::memcpy(data(from, to), out.data() + before_end, n - before_end);
  r.pushed.store(pushed + n, std::memory_order_release);
  return n;
}

size_t SharedRings::pop(int from, int to, std::span<std::byte> in) {
  Ring& r = ring(from, to);
  const size_t capacity = ring_bytes(ranks_);
  const uint64_t popped = r.popped.load(std::memory_order_relaxed);
  const size_t ready = r.pushed.load(std::memory_order_acquire) - popped;
  const size_t n = std::min({in.size(), ready, capacity / 4});
  const size_t at = popped % capacity, before_end = std::min(n, capacity - at);
  std::memcpy(in.data(), data(from, to) + at, before_end);
  std::memcpy(in.data() + before_end, data(from, to), n - before_end);
  r.popped.store(popped + n, std::memory_order_release);
  return n;
}

}  // namespace mtf
