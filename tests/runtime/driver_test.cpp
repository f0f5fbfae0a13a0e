// The numbers that the driver computes itself: learning rates and sampled tokens.
#include <catch2/catch.hpp>

#include <cmath>
#include <map>
#include <vector>

#include "runtime/sampling.h"
#include "runtime/schedule.h"

namespace mtf {
namespace {

TEST_CASE("a constant rate stays") {
  LearningRate r;
  r.peak = 0.25;
  for (int64_t t : {1, 7, 100})
    CHECK(learning_rate(r, t, 100) == 0.25);
}

TEST_CASE("the rate grows linearly in the warmup and falls along half a cosine") {
  LearningRate r;
  r.peak = 2;
  r.warmup = 10;
  r.decay = LearningRate::Decay::cosine;
  r.final = 0.1;
  CHECK(learning_rate(r, 1, 110) == Approx(0.2));
  CHECK(learning_rate(r, 10, 110) == 2);
  CHECK(learning_rate(r, 60, 110) == Approx(1.1));  // half way: mean of 2 and 0.2
  CHECK(learning_rate(r, 110, 110) == Approx(0.2));
  CHECK(learning_rate(r, 35, 110) == Approx(0.2 + 1.8 * (1 + std::sqrt(0.5)) / 2));
}

TEST_CASE("linear decay is a straight line from the peak to the last rate") {
  LearningRate r;
  r.peak = 1;
  r.decay = LearningRate::Decay::linear;
  CHECK(learning_rate(r, 25, 100) == Approx(0.75));
  CHECK(learning_rate(r, 100, 100) == Approx(0).margin(1e-12));
}

TEST_CASE("temperature 0 takes the likeliest token, the lowest id among equals") {
  const std::vector<float> logits = {1, 3, -2, 3, 0};
  CHECK(sample(logits, 0, 0, 1, 0) == 1);
}

TEST_CASE("tokens are drawn as softmax says, over the top k alone") {
  const std::vector<float> logits = {0, std::log(2.0f), -40, std::log(5.0f)};
  std::map<int32_t, int> all, two;
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    ++all[sample(logits, 1, 0, 7, i)];
    ++two[sample(logits, 1, 2, 7, i)];
  }
  CHECK(all[0] / double(draws) == Approx(1 / 8.0).margin(0.01));
  CHECK(all[1] / double(draws) == Approx(2 / 8.0).margin(0.01));
  CHECK(all[3] / double(draws) == Approx(5 / 8.0).margin(0.01));
  CHECK(two[0] == 0);
  CHECK(two[1] / double(draws) == Approx(2 / 7.0).margin(0.01));
}

TEST_CASE("a draw is a function of seed and position") {
  const std::vector<float> logits(50, 0.0f);
  std::map<int32_t, int> seen;
  for (int i = 0; i < 100; ++i) {
    CHECK(sample(logits, 1, 0, 3, i) == sample(logits, 1, 0, 3, i));
    ++seen[sample(logits, 1, 0, 3, i)];
  }
  CHECK(seen.size() > 30);
}

}  // namespace
}  // namespace mtf
