// The inverse of the normal distribution function, which turns one uniform number into one normal.
#pragma once

namespace mtf {

// x with Phi(x) = p, 0 < p < 1, to about 1e-16 relative: routine PPND16 of Wichura, "Algorithm AS
// 241: The percentage points of the normal distribution", Applied Statistics 37 (1988). Uses
// + - * / sqrt and one fixed implementation of log, so that all machines give equal bits.
double normal_quantile(double p);

}  // namespace mtf
