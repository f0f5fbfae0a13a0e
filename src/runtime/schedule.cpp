#include "runtime/schedule.h"

#include <cmath>
#include <numbers>

namespace mtf {

double learning_rate(const LearningRate& rate, int64_t t, int64_t steps) {
  if (t <= rate.warmup)
    return rate.peak * static_cast<double>(t) / static_cast<double>(rate.warmup);
  if (rate.decay == LearningRate::Decay::none || steps <= rate.warmup)
    return rate.peak;
  const double done =
      static_cast<double>(t - rate.warmup) / static_cast<double>(steps - rate.warmup);
  const double left = rate.decay == LearningRate::Decay::linear
                          ? 1 - done
                          : (1 + std::cos(std::numbers::pi * done)) / 2;
  return rate.final * rate.peak + (1 - rate.final) * rate.peak * left;
}

}  // namespace mtf
