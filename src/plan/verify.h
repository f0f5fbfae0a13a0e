// Checks a Program as an IR: a failure is a bug of the planner, never of the user, and aborts.
#pragma once

#include "plan/program.h"

namespace mtf {

// Every operand is made before it is read; shard sizes follow from type and layout; collectives
// change the layout as they say; results of computes are whole or partial as declared.
void verify(const Program&);

}  // namespace mtf
