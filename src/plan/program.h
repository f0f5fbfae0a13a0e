// A Program: the flat list of instructions that every rank executes, and that `plan` prints. SPMD:
// the same text on every rank. Instruction kinds are a closed set.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "ops/op.h"

namespace mtf {

struct ValueId {
  int32_t index = -1;
  auto operator<=>(const ValueId&) const = default;
};

enum class Storage : uint8_t { parameter, gradient, state, cache, input, output, temporary };
std::string_view name_of(Storage);

struct Value {
  std::string name;
  Type type;                         // logical, whole-mesh type; dims in storage order
  Layout layout;
  std::vector<int64_t> local_sizes;  // shard sizes on every device
  Storage storage = Storage::temporary;
  ValueId alias_of;                  // same bytes under other dim names; index -1: its own

  int64_t local_elements() const;
  int64_t local_bytes() const { return local_elements() * size_of(type.dtype); }
};

// How a collective is carried out; part of the instruction, so that plan and run agree.
enum class Algorithm : uint8_t {
  doubling,  // recursive doubling: log2 p messages of n bytes
  halving,   // recursive halving, then doubling for all_reduce
  gather,    // not a power of two: all_gather, then the same tree locally
};
std::string_view name_of(Algorithm);

// `fold` of an axis list is innermost first: over[0] is summed before over[1].
struct Compute { const OpDef* op; KernelCall call; };  // call.inputs/results views are of rank 0
struct AllReduce { AxisList over; Reduction reduction; Algorithm algorithm; };
struct AllGather { AxisId over; DimId dim; };
struct ReduceScatter { AxisList over; DimId dim; Algorithm algorithm; };
struct AllToAll { AxisId over; DimId split; DimId concat; };  // split: newly split; concat: made whole
struct Shift { AxisId over; DimId dim; int offset; bool wrap; };
struct Slice { AxisId over; DimId dim; };  // keep own piece; no traffic
struct OnFirst { AxisList over; };  // replicated -> partial: kept on coordinate 0, -0.0 elsewhere

using Action = std::variant<Compute, AllReduce, AllGather, ReduceScatter, AllToAll, Shift, Slice, OnFirst>;

struct Instruction {
  Action action;
  std::vector<ValueId> inputs, results;
  Origin origin;
  Phase phase = Phase::forward;
};

struct Program {
  std::string name;  // init, accumulate, update, eval, prefill, decode
  Mesh mesh;
  std::vector<Dim> dims;
  std::vector<Value> values;
  std::vector<Instruction> code;

  const Value& operator[](ValueId id) const { return values[static_cast<size_t>(id.index)]; }
  Value& operator[](ValueId id) { return values[static_cast<size_t>(id.index)]; }
  const Dim& operator[](DimId id) const { return dims[static_cast<size_t>(id.index)]; }
};

// Wire bytes and messages that one rank sends in an instruction (the maximum over ranks), exactly
// as the communicator does (partitioning.md section 2). Zero for Compute, Slice and OnFirst.
struct Traffic {
  int64_t bytes = 0, messages = 0;
};
Traffic traffic(const Program&, const Instruction&);

std::string print(const Program&);
std::string print(const Program&, const Instruction&);

}  // namespace mtf
