// The steps that softmax, attention and the losses share (docs/NUMERICS.md 7).
#pragma once

#include "ops/formula.h"

namespace mtf {

// The greatest element of each row, no less than the lowest f32: in a fully masked row (all -inf)
// every exp(x - m) is then 0, not NaN.
Expr row_max(Expr x, const std::vector<DimId>& over);
// The sum of exp(x - m), no less than 1: it is at least that in any row that is not fully masked,
// and a fully masked row yields 0.
Expr row_sum(Expr x, Expr m, const std::vector<DimId>& over);
// exp(x - m) / s
Expr softmax_of(Expr x, Expr m, Expr s);
// y (dy - sum(y dy)), the gradient of y = softmax(x)
Expr softmax_gradient(Expr y, Expr dy, const std::vector<DimId>& over);

}  // namespace mtf
