// Emits the conversions of values between layouts, each made once within a phase.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "mesh/layout.h"
#include "plan/layout_findings.h"
#include "plan/names.h"
#include "plan/program.h"

namespace mtf {

class Conversions {
 public:
  Conversions(Program& program, LayoutFindings& findings)
      : program_(program), findings_(findings) {}

  // Where conversions of a value say they come from; of a node of the Graph, which outlives this.
  void made_at(ValueId v, const Origin& origin) {
    origins_.resize(std::max(origins_.size(), static_cast<size_t>(v.index) + 1));
    origins_[static_cast<size_t>(v.index)] = &origin;
  }

  // The value in another layout. Inputs are read anew; others are converted, once per phase.
  ValueId convert(ValueId from, Reduction of_partial, const Layout& to, Phase);

  // The value under the dim names of an alias node.
  ValueId renamed(ValueId, const Alias&, NodeId alias);

 private:
  using Key = std::pair<std::vector<AxisList>, Phase>;

  ValueId add(Value v);
  ValueId read_again(ValueId input, const Layout&);
  ValueId step(ValueId from, const Action&, Phase);

  Program& program_;
  LayoutFindings& findings_;
  std::map<ValueId, std::map<Key, ValueId>> converted_;
  std::map<std::pair<ValueId, NodeId>, ValueId> views_;
  std::vector<const Origin*> origins_;  // by value
};

}  // namespace mtf
