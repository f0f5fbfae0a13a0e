// Ranks as threads of one process, for tests: every rank runs the same function on its own
// communicator, and a rank that throws takes the others with it instead of leaving them waiting.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/communicator.h"

namespace mtf {

// The shared side: mailboxes for every pair of ranks.
class ThreadWorld {
 public:
  explicit ThreadWorld(int size);
  ~ThreadWorld();

  // The communicator of one rank, to be used by one thread at a time.
  Communicator& operator[](int rank);

  // From now on every exchange that would wait throws a Failure, peer_died.
  void fail();

 private:
  friend class ThreadCommunicator;
  struct Inbox;
  std::vector<std::unique_ptr<Inbox>> inboxes_;  // by receiving rank
  std::vector<std::unique_ptr<Communicator>> ranks_;
};

// Runs `body` once for each rank, each in its own thread, and rethrows the first exception thrown.
void run_ranks(int size, const std::function<void(Communicator&)>& body);

}  // namespace mtf
