// Equal prefix products mean equal elements: a dim of size D split p ways at prefix product P gives
// rank i the i-th p-th part of each of the P equal runs of the flattened tensor.
#include "plan/reshape.h"

#include <map>

#include "ops/builder.h"

namespace mtf {

void follow_reshape(const Program& program, const Node& node, OpLayout& layout) {
  const auto* from = node.attrs.get<std::vector<DimId>>("from");
  const auto* to = node.attrs.get<std::vector<DimId>>("to");
  if (!from || !to)
    return;
  std::map<int64_t, DimId> starts;  // prefix product -> the result dim that starts there
  int64_t prefix = 1;
  for (DimId d : *to) {
    const int64_t size = program[d].size;
    if (size > 1)
      starts.emplace(prefix, d);
    prefix *= size;
  }
  prefix = 1;
  for (DimId d : *from) {
    const AxisList axes = layout.of(d);
    const auto it = starts.find(prefix);
    prefix *= program[d].size;
    if (axes.empty())
      continue;
    // A dim that stands on both sides has one layout: it keeps its axes only where it stays in
    // place.
    const bool carried = it != starts.end() &&
                         program[it->second].size % program.mesh.size(axes) == 0 &&
                         (it->second == d || (!contains(*from, it->second) && !contains(*to, d)));
    if (!carried)
      layout.of(d).clear();
    else
      layout.of(it->second) = axes;
  }
}

}  // namespace mtf
