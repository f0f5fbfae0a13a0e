// Walks a Program's instructions, and nothing else: what `plan` printed is what runs.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "runtime/communicator.h"
#include "runtime/device.h"

namespace mtf {

// What happened in one instruction, summed over the runs of its program.
struct Measured {
  int64_t runs = 0;
  Traffic sent;
  double seconds = 0;
};

class Executor {
 public:
  // Prepares every kernel and binds every address; `run` allocates nothing.
  Executor(const PlannedProgram&, Device&, TracedCommunicator&);

  void run();

  const Program& program() const { return planned_.program; }
  // The bytes of an input or output of the program, on this rank.
  std::span<std::byte> bytes(ValueId) const;
  std::span<const Measured> measured() const { return measured_; }

 private:
  using Step = std::function<void()>;

  Step bind(const Instruction&, int64_t staging);
  Step bind(const Compute&, const Instruction&);
  std::byte* address(ValueId) const;

  const PlannedProgram& planned_;
  Device& device_;
  TracedCommunicator& communicator_;
  std::vector<Step> steps_;
  std::vector<Measured> measured_;
};

}  // namespace mtf
