// Who makes and who reads each value of a program.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "plan/program.h"

namespace mtf {

struct Uses {
  explicit Uses(const Program&);

  std::vector<int> maker;    // instruction that makes a value, or -1
  std::vector<int> readers;  // instructions and outputs that read it; a rename counts as one
  int maker_of(ValueId v) const { return maker[static_cast<size_t>(v.index)]; }
  bool read_once(ValueId v) const { return readers[static_cast<size_t>(v.index)] == 1; }
};

// The local kernel of an instruction, or null; and whether it is the one of this name.
inline Compute* compute(Instruction& i) {
  return std::get_if<Compute>(&i.action);
}
inline bool is(Instruction& i, std::string_view kernel) {
  return compute(i) && compute(i)->call.kernel == kernel;
}

// The value whose bytes these are.
ValueId root(const Program&, ValueId);

// Removes the instructions whose `dead` entry is set.
void remove(Program&, const std::vector<char>& dead);

}  // namespace mtf
