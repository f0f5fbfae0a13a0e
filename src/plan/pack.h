// Packing of small sums over ranks: fewer messages, the same bytes and bits (the trees are per
// element).
#pragma once

#include "plan/program.h"

namespace mtf {

inline constexpr int64_t most_packed_bytes = int64_t{4} << 20;

// all_reduces of one reduction, axis list and dtype of which none depends on another become one
// instruction on several values, in order of emission, up to most_packed_bytes. They run where the
// first of their results is needed.
void pack(Program&);

}  // namespace mtf
