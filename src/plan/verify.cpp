#include "plan/verify.h"

#include "base/check.h"
#include "plan/relayout.h"
#include "plan/uses.h"

namespace mtf {

void verify(const Program& p) {
  std::vector<char> made(p.values.size(), 0);
  for (const Program::Binding& b : p.inputs)
    made[static_cast<size_t>(b.value.index)] = 1;
  for (const Instruction& i : p.code) {
    const std::string text = print(p, i);
    for (ValueId v : i.inputs)
      CHECK(made[static_cast<size_t>(root(p, v).index)], "read before it is made: " + text);
    for (ValueId v : i.results) {
      CHECK(!made[static_cast<size_t>(v.index)], "made twice: " + text);
      made[static_cast<size_t>(v.index)] = 1;
    }
    if (std::holds_alternative<Compute>(i.action))
      continue;
    const Value& from = p[i.inputs[0]];
    const Value& to = p[i.results[0]];
    CHECK(from.type.shape.dims == to.type.shape.dims && from.type.dtype == to.type.dtype, text);
    CHECK(apply(i.action, from.type.shape, from.layout) == to.layout, text);
  }
  for (const Value& v : p.values)
    CHECK(v.local_sizes == local_sizes(p, v.type.shape, v.layout), v.name);
  for (const Program::Binding& b : p.outputs)
    CHECK(made[static_cast<size_t>(root(p, b.value).index)], b.name);
}

}  // namespace mtf
