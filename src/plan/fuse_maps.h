// Elementwise fusion: maps into the reduce that reads them, maps with maps, maps into products.
#pragma once

#include "plan/program.h"

namespace mtf {

void fuse_maps(Program&);

}  // namespace mtf
