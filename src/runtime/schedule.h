// Numbers that the driver computes in f64 for each step: the rate and Adam's corrections.
#pragma once

#include "spec/spec.h"

namespace mtf {

// The learning rate of step t (from 1) of `steps` (docs/NUMERICS.md 8).
double learning_rate(const LearningRate&, int64_t t, int64_t steps);

}  // namespace mtf
