// The checks of the collectives that run alike on ranks as threads and as processes: every result
// against a tree written out naively, and what was sent against what the plan says. Every rank
// knows every rank's operands, so each computes what it expects alone.
#pragma once

#include "runtime/communicator.h"

namespace mtf {

// Runs all collectives over the group of all ranks for this many elements a rank. Throws a
// std::runtime_error that says what differs.
void check_collectives(Communicator& comm, int64_t elements);

}  // namespace mtf
