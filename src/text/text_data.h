// Text files as next-token prediction: one stream of bytes, cut into windows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/dataset.h"

namespace mtf {

// The files that match any of the patterns (as the shell's *, ?, [ ]), sorted within each pattern.
// Failure(Exit::bad_input) for a pattern that nothing matches.
std::vector<std::string> expand_patterns(std::span<const std::string> patterns);

// Inputs `tokens` and `targets` of i32, each with a batch dim and one other dim, the length; ids
// are bytes and the targets the bytes that follow. The files are joined without separators; the
// last `validation` share of the bytes is for validation.
//   train       example e of step s begins at a random place, drawn from (seed, s, e)
//   validation  windows one after the other; targets beyond the end are -1, which the loss ignores
// Failure(Exit::bad_input) if there are fewer bytes than one window has.
Dataset text_dataset(std::vector<BatchInput> inputs, std::span<const std::string> patterns,
                     double validation, uint64_t seed);

}  // namespace mtf
