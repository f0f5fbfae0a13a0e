#include "plan/uses.h"

#include <utility>

namespace mtf {

Uses::Uses(const Program& p) : maker(p.values.size(), -1), readers(p.values.size(), 0) {
  std::vector<char> alias_read(p.values.size(), 0);
  auto read = [&](ValueId v) {
    while (true) {
      ++readers[static_cast<size_t>(v.index)];
      const ValueId base = p[v].alias_of;
      if (base.index < 0 || std::exchange(alias_read[static_cast<size_t>(v.index)], 1))
        return;
      v = base;
    }
  };
  for (size_t i = 0; i < p.code.size(); ++i) {
    for (ValueId v : p.code[i].inputs)
      read(v);
    for (ValueId v : p.code[i].results)
      maker[static_cast<size_t>(v.index)] = static_cast<int>(i);
  }
  for (const Program::Binding& b : p.outputs)
    read(b.value);
}

ValueId root(const Program& p, ValueId v) {
  while (p[v].alias_of.index >= 0)
    v = p[v].alias_of;
  return v;
}

void remove(Program& p, const std::vector<char>& dead) {
  std::vector<Instruction> kept;
  for (size_t i = 0; i < p.code.size(); ++i)
    if (!dead[i])
      kept.push_back(std::move(p.code[i]));
  p.code = std::move(kept);
}

}  // namespace mtf
