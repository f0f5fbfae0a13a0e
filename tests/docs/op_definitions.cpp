// The ops that are made of others, as their steps: for each the first row of the table of op cases,
// built into a Graph and printed. docs/OPS.md shows it.
#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <sstream>

#include "ops/cases.h"

namespace mtf::testing {
namespace {

NodeId operand(Builder& b, const Operand& o, size_t index) {
  const bool ids = o.kind == Kind::ids || o.kind == Kind::labels || o.kind == Kind::scalar_id;
  const DType type = ids ? DType::i32 : o.kind == Kind::truth ? DType::boolean : DType::f32;
  return b.leaf("input", std::string(1, static_cast<char>('a' + index)),
                {{dims_of(b.graph, o.dims)}, type});
}

std::string definition(const Case& c) {
  Graph graph;
  add_dims(graph);
  Numerics numerics;
  Diagnostics diagnostics;
  Builder b(graph, numerics, diagnostics);
  std::vector<NodeId> operands;
  for (size_t i = 0; i < c.operands.size(); ++i)
    operands.push_back(operand(b, c.operands[i], i));
  b.add(*find_op(c.op), operands, c.attributes ? c.attributes(graph) : Attrs{});
  return print(graph);
}

}  // namespace
}  // namespace mtf::testing

int main() {
  std::set<std::string> done;
  for (const mtf::testing::Case& c : mtf::testing::cases())
    if (mtf::find_op(c.op)->build && done.insert(c.op).second)
      fmt::print("### {}\n\n```\n{}```\n\n", c.op, mtf::testing::definition(c));
  return 0;
}
