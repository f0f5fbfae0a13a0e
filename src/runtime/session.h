// A plan on one rank: its device, an executor for each of its programs, and the named values that
// programs exchange with the driver.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/executor.h"

namespace mtf {

class Session {
 public:
  Session(const Plan&, Backend&, Communicator&);

  bool has(std::string_view program) const { return executors_.count(std::string(program)) > 0; }
  Executor& operator[](std::string_view program);
  Device& device() { return device_; }
  TracedCommunicator& communicator() { return communicator_; }
  const Plan& plan() const { return plan_; }

  // Sets a scalar input of a program (f32, f64 or i32) if it has one of that name.
  void set(std::string_view program, std::string_view input, double value);
  // A scalar output of a program; NaN if it has none of that name.
  double get(std::string_view program, std::string_view output);

  // Zeroes every persistent value whose name starts with `prefix`.
  void zero(std::string_view prefix);

 private:
  const Plan& plan_;
  TracedCommunicator communicator_;
  Device device_;
  std::map<std::string, std::unique_ptr<Executor>, std::less<>> executors_;
};

// Whether this rank is the one of the replicas of its shard that speaks for it: at coordinate 0 of
// every axis that does not split the value.
bool speaks_for(const Mesh&, const Value&, int rank);

}  // namespace mtf
