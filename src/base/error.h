// Failures of the world (files, disks, MPI, peers), caught once, in main.
#pragma once

#include <stdexcept>
#include <string>

namespace mtf {

enum class Exit : int {
  ok = 0,
  spec = 1,
  command_line = 2,
  does_not_fit = 3,
  bad_input = 4,
  environment = 5,
  peer_died = 6,
  non_finite = 7,
  stuck = 8,
  bug = 70,
  stopped = 75,
  interrupted = 130,
};

class Failure : public std::runtime_error {
 public:
  Failure(Exit code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Exit code() const { return code_; }

 private:
  Exit code_;
};

}  // namespace mtf
