// The counting wrapper: what a rank really sent, to be compared with what the plan says.
#include <cstdlib>

#include "runtime/communicator.h"

namespace mtf {

void TracedCommunicator::exchange(int destination, std::span<const std::byte> out, int source,
                                  std::span<std::byte> in) {
  if (!out.empty() && destination != rank()) {
    sent.bytes += static_cast<int64_t>(out.size());
    ++sent.messages;
  }
  inner_.exchange(destination, out, source, in);
}

void TracedCommunicator::abort(int exit_code) {
  inner_.abort(exit_code);
  std::abort();  // never reached: tells the compiler that a virtual call does not return
}

}  // namespace mtf
