// Lifetimes -> offsets. What this says is what the executor allocates, byte for byte.
#pragma once

#include <map>
#include <string>

#include "plan/program.h"

namespace mtf {

inline constexpr int64_t alignment = 64;  // of every value, bytes

// What lives longer than a program: parameters, gradients, optimizer state, caches. Shared by name
// between the programs of a plan.
struct Persistent {
  std::string name;
  Value value;
  int64_t offset = 0;  // in the persistent segment
};

struct Resident {
  std::vector<Persistent> list;
  int64_t bytes = 0;  // of the segment, alignment included
  int64_t bytes_of(Storage) const;
  const Persistent* find(std::string_view name) const;
  void add(std::string name, const Value&);  // at the end of the segment

 private:
  std::map<std::string, size_t, std::less<>> by_name_;  // into list
};

struct MemoryPlan {
  enum class Segment : uint8_t { resident, io, arena };
  struct Place {
    Segment segment = Segment::arena;
    int64_t offset = -1;  // -1: the value is never stored
  };
  std::vector<Place> place;      // by value; renames lie where their base lies
  std::vector<int64_t> staging;  // by instruction: offset in the arena, -1 if it needs none
  int64_t input_bytes = 0, output_bytes = 0;  // together the io segment
  int64_t arena_bytes = 0;
  int64_t peak_live_bytes = 0;  // lower bound of arena_bytes
  int peak_at = -1;             // instruction
};

// Gives results that outlive the program their storage: written in place of the old value where
// nothing reads that any more, else by a copy at the end.
void bind_outputs(Program&);

// Adds this program's persistent values to those of the plan. Equal names must lie equally.
void collect_resident(const Program&, Resident&);

MemoryPlan plan_memory(const Program&, const Resident&);

// Bytes that a collective needs besides operand and result.
int64_t staging_bytes(const Program&, const Instruction&);

}  // namespace mtf
