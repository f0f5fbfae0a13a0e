#include "lifetimes.h"

#include <algorithm>

namespace mtf {
namespace {

ValueId own_bytes(const Program& p, ValueId v) {
  return p[v].alias_of.index < 0 ? v : own_bytes(p, p[v].alias_of);
}

}  // namespace

std::vector<Stay> arena_stays(const PlannedProgram& planned) {
  const Program& p = planned.program;
  std::vector<Stay> stays;
  std::vector<int> at(p.values.size(), -1);
  for (size_t i = 0; i < p.code.size(); ++i) {
    const int now = static_cast<int>(i);
    for (ValueId v : p.code[i].inputs)
      if (const int s = at[static_cast<size_t>(own_bytes(p, v).index)]; s >= 0)
        stays[static_cast<size_t>(s)].last = now;
    for (ValueId v : p.code[i].results) {
      const MemoryPlan::Place& place = planned.memory.place[static_cast<size_t>(v.index)];
      if (place.segment != MemoryPlan::Segment::arena)
        continue;
      at[static_cast<size_t>(v.index)] = static_cast<int>(stays.size());
      stays.push_back({v, place.offset, p[v].local_bytes(), now, now});
    }
    if (const int64_t bytes = staging_bytes(p, p.code[i]); bytes > 0)
      stays.push_back({{}, planned.memory.staging[i], bytes, now, now});
  }
  for (const Program::Binding& b : p.outputs)
    if (const int s = at[static_cast<size_t>(own_bytes(p, b.value).index)]; s >= 0)
      stays[static_cast<size_t>(s)].last = static_cast<int>(p.code.size());
  return stays;
}

std::vector<Stretch> dead_ranges(const std::vector<Stay>& stays, int instruction,
                                 int64_t arena_bytes) {
  std::vector<Stretch> live;
  for (const Stay& s : stays)
    if (s.made < instruction && instruction <= s.last)
      live.push_back({s.offset, s.bytes});
  std::sort(live.begin(), live.end(),
            [](const Stretch& a, const Stretch& b) { return a.offset < b.offset; });
  std::vector<Stretch> dead;
  int64_t end = 0;
  for (const Stretch& r : live) {
    if (r.offset > end)
      dead.push_back({end, r.offset - end});
    end = std::max(end, r.offset + r.bytes);
  }
  if (end < arena_bytes)
    dead.push_back({end, arena_bytes - end});
  return dead;
}

}  // namespace mtf
