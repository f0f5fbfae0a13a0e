// From logits to a token.
#pragma once

#include <cstdint>
#include <span>

namespace mtf {

// The token drawn at `position` of a generation: the most likely one (lowest id among ties) at
// temperature 0, else from softmax(logits / temperature) over the top_k most likely (0: all). A
// function of its arguments alone.
int32_t sample(std::span<const float> logits, double temperature, int64_t top_k, uint64_t seed,
               int64_t position);

}  // namespace mtf
