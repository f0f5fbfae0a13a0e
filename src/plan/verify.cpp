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
    CHECK(i.inputs.size() == i.results.size(), text);
    CHECK(i.inputs.size() == 1 || std::holds_alternative<AllReduce>(i.action), text);
    for (size_t k = 0; k < i.inputs.size(); ++k) {
      const Value& from = p[i.inputs[k]];
      const Value& to = p[i.results[k]];
      CHECK(from.type.shape.dims == to.type.shape.dims && from.type.dtype == to.type.dtype, text);
      CHECK(apply(i.action, from.type.shape, from.layout) == to.layout, text);
    }
  }
  for (const Value& v : p.values)
    CHECK(v.local_sizes == local_sizes(p, v.type.shape, v.layout), v.name);
  for (const Program::Binding& b : p.outputs)
    CHECK(made[static_cast<size_t>(root(p, b.value).index)], b.name);
}

}  // namespace mtf
