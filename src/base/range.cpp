#include "base/range.h"

#include <fmt/format.h>

#include <cmath>

namespace mtf {

std::string Range::text() const {
  bool low = std::isfinite(least), high = std::isfinite(most);
  if (low && high && !least_excluded && !most_excluded)
    return least == most ? fmt::format("{}", least) : fmt::format("from {} to {}", least, most);
  std::string out;
  if (low)
    out = fmt::format("{} {}", least_excluded ? "above" : "at least", least);
  if (high)
    out += fmt::format("{}{} {}", low ? " and " : "", most_excluded ? "below" : "at most", most);
  return out;
}

}  // namespace mtf
