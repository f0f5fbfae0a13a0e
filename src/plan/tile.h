// Joins the instructions around a product whose result is larger than its operands, such as the
// scores of attention, into one tiled instruction: the large values then exist a tile at a time.
#pragma once

#include "plan/program.h"

namespace mtf {

void tile(Program&);

}  // namespace mtf
