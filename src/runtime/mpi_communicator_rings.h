// Byte streams between the ranks of one node through shared memory: a ring buffer for every ordered
// pair. Sizes agree on both ends, so a stream needs no message headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace mtf {

class SharedRings {
 public:
  // Makes the segment for this many ranks, or opens one that a peer made under this name. Null if
  // the system refuses (no room in /dev/shm, too many ranks): the ranks then do without.
  static std::unique_ptr<SharedRings> create(const std::string& name, int ranks);
  static std::unique_ptr<SharedRings> open(const std::string& name, int ranks);
  // Takes the name away once all have opened it, so that nothing stays behind however a run ends.
  static void remove(const std::string& name);

  ~SharedRings();
  SharedRings(const SharedRings&) = delete;
  SharedRings& operator=(const SharedRings&) = delete;

  // Moves what is possible without waiting, from the front of the span; returns the bytes moved.
  size_t push(int from, int to, std::span<const std::byte> out);
  size_t pop(int from, int to, std::span<std::byte> in);

 private:
  struct Ring;
  SharedRings(std::byte* memory, int ranks) : memory_(memory), ranks_(ranks) {}
  static std::unique_ptr<SharedRings> map(int file, int ranks);
  Ring& ring(int from, int to);
  std::byte* data(int from, int to);

  std::byte* memory_;  // the rings' counters, then their data
  int ranks_;
};

}  // namespace mtf
