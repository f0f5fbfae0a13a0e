// What a number may be.
#pragma once

#include <limits>
#include <string>

namespace mtf {

struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool least_excluded = false, most_excluded = false;

  bool holds(double x) const {
    return (least_excluded ? x > least : x >= least) && (most_excluded ? x < most : x <= most);
  }
  std::string text() const;  // "at least 1"; empty if everything is allowed
};

constexpr Range at_least(double least) {
  return {.least = least};
}
constexpr Range above(double least) {
  return {.least = least, .least_excluded = true};
}
constexpr Range between(double least, double most) {
  return {.least = least, .most = most};
}
constexpr Range below_one() {
  return {.least = 0, .most = 1, .most_excluded = true};
}

}  // namespace mtf
