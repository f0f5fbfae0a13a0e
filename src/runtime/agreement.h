// What ranks decide together: small records that travel to and from rank 0, and work that either
// succeeds on all ranks or is a failure of all, so that none waits for a rank that is gone.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/communicator.h"

namespace mtf {

// Thrown on every rank alike: one of them speaks for all, and all may leave as after success.
class SharedFailure : public Failure {
 public:
  using Failure::Failure;
};

// Runs `work` on every rank. If it throws a Failure (or runs out of memory) on one or more, every
// rank throws a SharedFailure with the code and text of the lowest of them.
void together(Communicator&, const std::function<void()>& work);

// One record of every rank, in order of rank, on rank 0; elsewhere copies of one's own.
template <class Record>
std::vector<Record> gather(Communicator& c, const Record& mine) {
  std::vector<Record> all(static_cast<size_t>(c.size()), mine);
  if (c.rank() != 0)
    c.exchange(0, std::as_bytes(std::span(&mine, 1)), 0, {});
  else
    for (int r = 1; r < c.size(); ++r)
      c.exchange(r, {}, r, std::as_writable_bytes(std::span(&all[static_cast<size_t>(r)], 1)));
  return all;
}

// Rank 0's word to all.
void spread_bytes(Communicator&, std::span<std::byte> word);
template <class Record>
void spread(Communicator& c, Record& word) {
  spread_bytes(c, std::as_writable_bytes(std::span(&word, 1)));
}
void spread(Communicator&, std::string& word);

}  // namespace mtf
