// Fusion of local instructions: fewer passes over memory, the same bits. It never meets sharding
// and never moves a rounding.
#pragma once

#include "plan/program.h"

namespace mtf {

// Trees of block dims go inside the sum that makes the blocks; sums of products that share a tree
// become one product of several terms; elementwise ops become bodies of maps, of the reduce that
// reads them, or of the product before them.
void fuse(Program&);

}  // namespace mtf
