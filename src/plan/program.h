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
  Type type;  // logical, whole-mesh type; dims in storage order
  Layout layout;
  std::vector<int64_t> local_sizes;  // shard sizes on every device
  Storage storage = Storage::temporary;
  ValueId alias_of;  // same bytes under other dim names; index -1: its own

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

// A local kernel. `call` has everything but the views, which differ between ranks only in origins
// (bind_call in plan/lower.h fills them). `label` names the ops that it does, for people.
struct Compute {
  KernelCall call;
  std::string label;
  bool in_place = false;            // a result may overwrite an operand of its type and layout
  std::vector<ValueId> inner = {};  // of a tiled call: values that no other instruction knows
};

// Axis lists of sums are innermost first: over[0] is summed before over[1].
struct AllReduce {
  AxisList over;
  Reduction reduction;
  Algorithm algorithm;
};
struct AllGather {
  AxisId over;
  DimId dim;
};
struct ReduceScatter {  // dim becomes split by `over`, over[0] most minor
  AxisList over;
  DimId dim;
  Algorithm algorithm;
};
struct AllToAll {
  AxisId over;
  DimId split;   // becomes split
  DimId concat;  // becomes whole
};
struct Shift {
  AxisId over;
  DimId dim;
  int offset;
  bool wrap;
};
struct Slice {  // keep one's own piece; no traffic
  AxisId over;
  DimId dim;
};

using Action = std::variant<Compute, AllReduce, AllGather, ReduceScatter, AllToAll, Shift, Slice>;

struct Instruction {
  Action action;
  std::vector<ValueId> inputs, results;
  Origin origin;
  Phase phase = Phase::forward;
  double flops = 0;         // on one device
  double unique_flops = 0;  // of the whole logical op; flops * ranks / unique_flops is duplication
};

struct Program {
  // Where a named result goes when the program ends, and where named values come from.
  struct Binding {
    std::string name;  // "parameter:PATH", "gradient:PATH", "state:PATH/m", "driver:loss_sum", ...
    ValueId value;
  };

  std::string name;  // init, accumulate, update, eval, prefill, decode
  Mesh mesh;
  std::vector<Dim> dims;
  std::vector<Value> values;
  std::vector<Instruction> code;
  std::vector<Binding> inputs;   // read before the program runs: parameters, states, inputs
  std::vector<Binding> outputs;  // valid after it has run
  int sums = 0, exact_sums = 0;  // sums whose order no layout changes, of all sums

  const Value& operator[](ValueId id) const { return values[static_cast<size_t>(id.index)]; }
  Value& operator[](ValueId id) { return values[static_cast<size_t>(id.index)]; }
  const Dim& operator[](DimId id) const { return dims[static_cast<size_t>(id.index)]; }
};

// Wire bytes and messages that one rank sends in an instruction (the maximum over ranks), exactly
// as the communicator does (docs/COST_MODEL.md). Zero for Compute and Slice.
struct Traffic {
  int64_t bytes = 0, messages = 0;
};
Traffic traffic(const Program&, const Instruction&);

std::string print(const Program&);
std::string print(const Program&, const Instruction&);
std::string show(const Program&, const Value&);  // "f32 [batch/data=8, length=128]"
std::string show(const Mesh&, const AxisList&);  // "[data, model]"

uint64_t digest(const Program&);  // of the printed program, which has no spans

}  // namespace mtf
