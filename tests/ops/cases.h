// The table of op cases: at least one row for every op that a spec can name.
#pragma once

#include <string>
#include <vector>

#include "ops/builder.h"

namespace mtf::testing {

enum class Kind : uint8_t {
  real,       // a parameter, normal
  positive,   // a parameter in [0.5, 2]
  simplex,    // an input, positive rows that sum to 1 over the last dim
  ids,        // an input, i32 in [0, 3)
  labels,     // an input, i32 in [-1, 3): some are ignored
  truth,      // an input, boolean
  scalar_id,  // an input, the i32 scalar 1
};

struct Operand {
  Kind kind;
  std::string dims;  // "batch length"
};

struct Case {
  std::string name;  // op, then what is special
  std::string op;
  std::vector<Operand> operands;
  std::function<Attrs(Graph&)> attributes = nullptr;
  bool differentiable = true;  // by its real and positive operands
};

const std::vector<Case>& cases();

// The dims that cases name, with their sizes.
void add_dims(Graph&);
std::vector<DimId> dims_of(const Graph&, const std::string& names);
DimId dim_of(const Graph&, const std::string& name);

}  // namespace mtf::testing
