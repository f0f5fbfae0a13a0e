// A Graph as text, one node a line: number, op, operands, attributes, type, and the step it is of.
#include <fmt/format.h>

#include "graph/graph.h"
#include "ops/op.h"

namespace mtf {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

template <class Range, class Show>
std::string in_brackets(const Range& range, const Show& show) {
  std::string out;
  for (const auto& item : range)
    out += (out.empty() ? "" : ", ") + show(item);
  return "[" + out + "]";
}

std::string show(const Graph& g, const Attr& attr) {
  auto dim = [&g](DimId d) { return g[d].name; };
  return std::visit(Overloaded{
                        [](bool v) { return std::string(v ? "true" : "false"); },
                        [](int64_t v) { return std::to_string(v); },
                        [](double v) { return fmt::format("{}", v); },
                        [](const std::string& v) { return v; },
                        [](DType v) { return std::string(name_of(v)); },
                        [&](DimId v) { return dim(v); },
                        [&](const std::vector<DimId>& v) { return in_brackets(v, dim); },
                        [&](const DimPairs& v) {
                          return in_brackets(v, [&](const auto& p) {
                            return dim(p.first) + ": " + dim(p.second);
                          });
                        },
                        [](const std::vector<double>& v) {
                          return in_brackets(v, [](double x) { return fmt::format("{}", x); });
                        },
                    },
                    attr);
}

}  // namespace

std::string print(const Graph& g) {
  std::string out;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    std::string operands;
    for (NodeId id : n.inputs)
      operands += fmt::format("{}%{}", operands.empty() ? "" : ", ", id.index);
    out += fmt::format("%{} = {}({})", i, n.op->name, operands);
    for (const auto& [key, value] : n.attrs.items)
      out += fmt::format(" {}={}", key, show(g, value));
    out += fmt::format(" : {}{}", name_of(n.type.dtype), g.show(n.type.shape));
    if (n.gradient_of.index >= 0)
      out += fmt::format(" gradient of %{}", n.gradient_of.index);
    out += n.origin.scope.empty() ? "\n" : fmt::format("  # {}\n", n.origin.scope);
  }
  return out;
}

}  // namespace mtf
