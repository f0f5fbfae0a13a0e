// Padding: the last indices of a padded dim are there so that sizes divide, and hold anything. Who
// combines elements along such a dim, or hands them to another program, reads the neutral element
// there, by a true select: so no result depends on them (docs/NUMERICS.md).
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/builder.h"

namespace mtf {
namespace {

using Dims = std::vector<DimId>;

double lowest(DType type) {
  if (is_float(type))
    return -std::numeric_limits<double>::infinity();
  return type == DType::i32 ? INT32_MIN : 0;
}
double highest(DType type) {
  if (is_float(type))
    return std::numeric_limits<double>::infinity();
  return type == DType::i32 ? INT32_MAX : type == DType::u8 ? UINT8_MAX : 1;
}

double neutral_of(const Node& node, DType type) {
  switch (node.op->neutral) {
    case Neutral::zero:
      return -0.0;
    case Neutral::lowest:
      return lowest(type);
    case Neutral::highest:
      return highest(type);
    case Neutral::end:  // ascending, NaN comes after all numbers
      if (node.attrs.get_or("descending", false))
        return lowest(type);
      return is_float(type) ? std::nan("") : highest(type);
  }
  return 0;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

bool Builder::require_unpadded(std::span<const DimId> dims) {
  for (DimId d : dims)
    if (graph[d].padding > 0) {
      error(Code::model_shape,
            fmt::format("elements cannot be moved along {}, of which {} are padding; leave out "
                        "the `pad:` of '{}'",
                        graph[d].show(), graph[d].padding, graph[d].name));
      return false;
    }
  return true;
}

// Reports padded dims along which a movement works.
bool Builder::moves_no_padding(const Node& node) {
  Dims moved;
  for (int32_t d = 0; node.op->movement && d < static_cast<int32_t>(graph.dims.size()); ++d)
    if (node.op->role && node.op->role(graph, node, {d}) == Role::whole)
      moved.push_back({d});
  return require_unpadded(moved);
}

void Builder::mask_operands(Node& node) {
  if (!node.op->role || node.op->movement || node.op->lookup)
    return;
  for (NodeId& x : node.inputs) {
    Dims dims;
    // Products read one and the same masked value, whichever of its dims they sum.
    for (DimId d : shape(x).dims)
      if (node.op->kernel == "product" || node.op->role(graph, node, d) != Role::kept)
        dims.push_back(d);
    x = mask(x, dims, neutral_of(node, dtype(x)));
  }
}

// A lookup yields 0 for an index beyond the size; so it does for one in the padding.
NodeId Builder::mask_unknown_indices(NodeId lookup) {
  const NodeId table = graph[lookup].inputs[0], ids = graph[lookup].inputs[1];
  const DimId over = *graph[lookup].attrs.get<DimId>("over");
  if (graph[over].padding == 0 || holds(table, over, 0))
    return lookup;
  const auto size = static_cast<double>(graph[over].true_size());
  NodeId there = add("less", {ids, constant(size, DType::i32)});
  return add("mask", {there, lookup, constant(-0.0, dtype(lookup))}, {{{"dims", Dims{}}}});
}

// Are the padded indices of d known to hold `absent`? Parameters and states hold 0 there.
bool Builder::holds(NodeId x, DimId d, double absent) const {
  while (true) {
    const Node& node = graph[x];
    if (node.op->name == "parameter" || node.op->name == "state")
      return absent == 0 && !node.attrs.get<std::string>("name")->starts_with("gradient:");
    if (node.op->name == "mask" && contains(*node.attrs.get<Dims>("dims"), d))
      return same(*graph[node.inputs[2]].attrs.get<double>("immediate"), absent);
    const bool follows = node.op->name_only || (node.op->name == "cast" && absent == 0);
    if (!follows)
      return false;
    if (const auto* pairs = node.attrs.get<DimPairs>("dims"))
      for (const auto& [from, to] : *pairs)
        if (to == d) {
          d = from;
          break;
        }
    x = node.inputs[0];
  }
}

NodeId Builder::mask(NodeId x, std::span<const DimId> dims, double absent) {
  if (x.index < 0)
    return x;
  Dims unknown;
  for (DimId d : dims)
    if (graph[d].padding > 0 && !holds(x, d, absent))
      unknown.push_back(d);
  if (unknown.empty())
    return x;
  NodeId& known = masked_[{x, unknown, std::bit_cast<uint64_t>(absent), phase}];
  if (known.index >= 0)
    return known;
  const int32_t reader = std::exchange(composite, graph[x].composite);
  NodeId there;
  for (DimId d : unknown) {
    const auto size = static_cast<double>(graph[d].true_size());
    NodeId inside = add("less", {add("iota", {}, {{{"over", d}}}), constant(size, DType::i32)});
    there = there.index < 0 ? inside : add("logical_and", {there, inside});
  }
  known = add("mask", {there, x, constant(absent, dtype(x))}, {{{"dims", unknown}}});
  composite = reader;
  return known;
}

}  // namespace mtf
