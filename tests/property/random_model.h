// Seeds -> small random specs as text, each with random layouts: what the laws are tried on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mtf {

struct RandomLayout {
  std::vector<std::string> overrides;  // "mesh={x: 2, y: 2}", "layout=[{batch: x}, {a: y?}]"
};

struct RandomModel {
  std::string yaml;  // on one rank, without a layout
  std::vector<RandomLayout> layouts;
  std::vector<std::string> padding;  // overrides that pad some of its dims
};

// The same model and layouts for the same seed, on every machine.
RandomModel random_model(uint64_t seed, int layouts);

}  // namespace mtf
