#include "runtime/executor.h"

#include <chrono>
#include <cstring>

#include "plan/lower.h"
#include "plan/uses.h"
#include "runtime/pieces.h"

namespace mtf {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One operand and result of a collective on this rank, with its group and staging.
struct Bound {
  Communicator& communicator;
  Group group;
  std::span<std::byte> in, out, staging;
  DType dtype;

  int size() const { return static_cast<int>(group.ranks.size()); }
};

struct BindCollective {
  const Program& program;
  const Instruction& instruction;
  Bound bound;
  std::vector<std::span<std::byte>> packed_in, packed_out;  // of an all_reduce of several values

  using Step = std::function<void()>;

  Pieces pieces(const Value& whole, DimId dim) const {
    return {whole, whole.type.shape.find(dim), bound.size()};
  }
  const Value& in() const { return program[instruction.inputs[0]]; }
  const Value& out() const { return program[instruction.results[0]]; }

  // Through staging: values at consecutive offsets, then what the sum itself needs.
  Step packed(const AllReduce& a) const {
    return [b = bound, a, in = packed_in, out = packed_out] {
      size_t at = 0;
      for (std::span<std::byte> value : in) {
        std::memcpy(b.staging.data() + at, value.data(), value.size());
        at += value.size();
      }
      all_reduce(b.communicator, b.group, a.reduction, a.algorithm, b.dtype, b.staging.first(at),
                 b.staging.subspan(at));
      at = 0;
      for (std::span<std::byte> value : out) {
        std::memcpy(value.data(), b.staging.data() + at, value.size());
        at += value.size();
      }
    };
  }

  Step operator()(const Compute&) const { return {}; }

  Step operator()(const AllReduce& a) const {
    if (!packed_in.empty())
      return packed(a);
    return [b = bound, a] {
      if (b.in.data() != b.out.data())
        std::memcpy(b.out.data(), b.in.data(), b.in.size());
      all_reduce(b.communicator, b.group, a.reduction, a.algorithm, b.dtype, b.out, b.staging);
    };
  }

  Step operator()(const AllGather& a) const {
    const Pieces whole = pieces(out(), a.dim);
    return [b = bound, whole] {
      std::memcpy(b.staging.data() + static_cast<size_t>(b.group.position) * b.in.size(),
                  b.in.data(), b.in.size());
      all_gather(b.communicator, b.group, b.staging);
      for (int r = 0; r < b.size(); ++r)
        whole.put(b.out, r, b.staging.subspan(static_cast<size_t>(r) * b.in.size(), b.in.size()));
    };
  }

  Step operator()(const ReduceScatter& a) const {
    const Pieces whole = pieces(in(), a.dim);
    return [b = bound, whole, a] {
      const std::span<std::byte> packed = b.staging.first(b.in.size());
      for (int r = 0; r < b.size(); ++r)
        whole.get(b.in, r, packed.subspan(static_cast<size_t>(r) * b.out.size(), b.out.size()));
      reduce_scatter(b.communicator, b.group, a.algorithm, b.dtype, packed,
                     b.staging.subspan(b.in.size()));
      std::memcpy(b.out.data(),
                  packed.data() + static_cast<size_t>(b.group.position) * b.out.size(),
                  b.out.size());
    };
  }

  Step operator()(const AllToAll& a) const {
    const Pieces cut = pieces(in(), a.split), joined = pieces(out(), a.concat);
    return [b = bound, cut, joined] {
      const size_t piece = b.in.size() / static_cast<size_t>(b.size());
      const std::span<std::byte> send = b.staging.first(b.in.size()),
                                 receive = b.staging.subspan(b.in.size());
      for (int r = 0; r < b.size(); ++r)
        cut.get(b.in, r, send.subspan(static_cast<size_t>(r) * piece, piece));
      all_to_all(b.communicator, b.group, send, receive);
      for (int r = 0; r < b.size(); ++r)
        joined.put(b.out, r, receive.subspan(static_cast<size_t>(r) * piece, piece));
    };
  }

  Step operator()(const Shift& s) const {
    return [b = bound, s] { shift(b.communicator, b.group, s.offset, s.wrap, b.in, b.out); };
  }

  Step operator()(const Slice& s) const {
    const Pieces whole = pieces(in(), s.dim);
    return [b = bound, whole] { whole.get(b.in, b.group.position, b.out); };
  }
};

AxisList axes_of(const Action& action) {
  return std::visit(
      [](const auto& a) -> AxisList {
        using A = std::decay_t<decltype(a)>;
        if constexpr (std::is_same_v<A, Compute>)
          return {};
        else if constexpr (std::is_same_v<A, AllReduce> || std::is_same_v<A, ReduceScatter>)
          return a.over;
        else
          return {a.over};
      },
      action);
}

}  // namespace

Executor::Executor(const PlannedProgram& planned, Device& device, TracedCommunicator& communicator)
    : planned_(planned),
      device_(device),
      communicator_(communicator),
      measured_(planned.program.code.size()) {
  for (size_t i = 0; i < planned.program.code.size(); ++i)
    steps_.push_back(bind(planned.program.code[i], planned.memory.staging[i]));
}

std::byte* Executor::address(ValueId v) const {
  return device_.address(planned_.memory.place[static_cast<size_t>(v.index)]);
}

std::span<std::byte> Executor::bytes(ValueId v) const {
  return {address(v), static_cast<size_t>(planned_.program[v].local_bytes())};
}

Executor::Step Executor::bind(const Instruction& instruction, int64_t staging) {
  if (const auto* compute = std::get_if<Compute>(&instruction.action))
    return bind(*compute, instruction);
  const Program& p = planned_.program;
  const auto staged = static_cast<size_t>(staging_bytes(p, instruction));
  Bound bound{communicator_,
              group_of(p.mesh, communicator_.rank(), axes_of(instruction.action)),
              bytes(instruction.inputs[0]),
              bytes(instruction.results[0]),
              {staged ? device_.arena() + staging : nullptr, staged},
              p[instruction.inputs[0]].type.dtype};
  BindCollective bind_collective{p, instruction, bound, {}, {}};
  for (size_t i = 0; instruction.inputs.size() > 1 && i < instruction.inputs.size(); ++i) {
    bind_collective.packed_in.push_back(bytes(instruction.inputs[i]));
    bind_collective.packed_out.push_back(bytes(instruction.results[i]));
  }
  return std::visit(bind_collective, instruction.action);
}

Executor::Step Executor::bind(const Compute&, const Instruction& instruction) {
  const Kernel kernel =
      device_.backend().prepare(bind_call(planned_.program, instruction, communicator_.rank()));
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> results;
  for (ValueId v : instruction.inputs)
    inputs.push_back(address(v));
  for (ValueId v : instruction.results)
    results.push_back(address(v));
  return [this, kernel, inputs, results] {
    kernel({inputs, results, device_.scratch(), device_.backend().team()});
  };
}

void Executor::run() {
  for (size_t i = 0; i < steps_.size(); ++i) {
    Measured& m = measured_[i];
    const Traffic before = communicator_.sent;
    const double start = now();
    steps_[i]();
    m.seconds += now() - start;
    m.sent.bytes += communicator_.sent.bytes - before.bytes;
    m.sent.messages += communicator_.sent.messages - before.messages;
    ++m.runs;
  }
}

}  // namespace mtf
