// Moves the elementwise map that first reads a product's result into the product: bias, activation,
// residual and rounding are applied to a block of sums before it is stored.
#pragma once

#include "plan/program.h"

namespace mtf {

void fuse_products(Program&);

}  // namespace mtf
