// How many canonical blocks each summed dim is cut into (docs/NUMERICS.md 2). The counts
// depend on sizes and `numerics.blocks` alone, never on a mesh.
#pragma once

#include "ops/builder.h"

namespace mtf {

// By dim in order of summation (first = outermost); every count divides its size. `fixed` holds the
// counts of `numerics.blocks` by dim, 0 where it names none; `usual` is normally 8.
std::vector<int64_t> product_blocks(std::span<const int64_t> sizes, std::span<const int64_t> fixed,
                                    int64_t usual);
std::vector<int64_t> sum_blocks(std::span<const int64_t> sizes, std::span<const int64_t> fixed,
                                int64_t usual);

// The same for dims of the builder's graph, as pairs (d, d#n) for counts above 1. `outermost`, if
// not 0, is the count of the first dim. A count in `numerics.blocks` that does not divide its dim
// is an error, and the dim is then not cut.
DimPairs product_blocks(Builder&, std::span<const DimId> over, int64_t outermost = 0);
DimPairs sum_blocks(Builder&, std::span<const DimId> over);

}  // namespace mtf
