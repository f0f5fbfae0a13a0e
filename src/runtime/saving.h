// Checkpoints of a session: every rank writes the shards it speaks for, and reads what it needs.
#pragma once

#include "io/checkpoint.h"
#include "runtime/session.h"

namespace mtf {

// Bytes of data in one saved step, over all ranks.
int64_t saved_bytes(const Plan&);

// All ranks call this together. SharedFailure if one of them could not write; what was saved before
// is untouched.
void save(Session&, const std::string& directory, int64_t step, const std::string& rank_0_run_id,
          const CheckpointState&, int keep);

// Fills parameters, and with `everything` optimizer state too, from a checkpoint.
// Failure(bad_input) that names what is missing, extra or different if it is one of another model.
void load(Session&, const Checkpoint&, bool everything);

}  // namespace mtf
