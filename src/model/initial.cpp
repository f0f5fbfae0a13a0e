#include "model/initial.h"

#include <cmath>
#include <string>
#include <vector>

#include "spec/scalars.h"

namespace mtf {
namespace {

constexpr std::string_view forms =
    "{normal: std}, {fan_in: dims}, {fan_avg: [dims, dims]}, {uniform: a} or {constant: c}";

std::optional<double> read_fan(const YamlNode& node, std::string_view key, const Graph& graph,
                               const FindDim& find_dim, Diagnostics& diagnostics) {
  std::optional<std::vector<DimId>> dims = read_dims(node, key, find_dim, diagnostics);
  if (!dims)
    return std::nullopt;
  double product = 1;
  for (DimId d : *dims) {
    if (d.index < 0)
      return std::nullopt;
    product *= static_cast<double>(graph[d].true_size());
  }
  return product;
}

std::optional<Init> with_value(Init::Kind kind, std::optional<double> value) {
  return value ? std::optional(Init{kind, *value}) : std::nullopt;
}

}  // namespace

std::optional<Init> read_init(const YamlNode& node, const Graph& graph, const FindDim& find_dim,
                              Diagnostics& diagnostics) {
  if (!node.is_map() || node.entries.size() != 1) {
    report_type(node, "init", forms, diagnostics);
    return std::nullopt;
  }
  const auto& [key, value] = node.entries[0];
  if (key.text == "normal")
    return with_value(Init::Kind::normal, read_number(value, key.text, at_least(0), diagnostics));
  if (key.text == "uniform")
    return with_value(Init::Kind::uniform, read_number(value, key.text, at_least(0), diagnostics));
  if (key.text == "constant")
    return with_value(Init::Kind::constant, read_number(value, key.text, {}, diagnostics));
  if (key.text == "fan_in") {
    std::optional<double> fan = read_fan(value, key.text, graph, find_dim, diagnostics);
    return fan ? std::optional(Init{Init::Kind::normal, 1 / std::sqrt(*fan)}) : std::nullopt;
  }
  if (key.text == "fan_avg" && value.is_list() && value.items.size() == 2) {
    std::optional<double> in = read_fan(value.items[0], key.text, graph, find_dim, diagnostics);
    std::optional<double> out = read_fan(value.items[1], key.text, graph, find_dim, diagnostics);
    return in && out ? std::optional(Init{Init::Kind::normal, std::sqrt(2 / (*in + *out))})
                     : std::nullopt;
  }
  report_type(
      node, "init", forms, diagnostics,
      suggest(key.text, key.span,
              std::vector<std::string>{"normal", "uniform", "constant", "fan_in", "fan_avg"}));
  return std::nullopt;
}

Init init_for_product(const Graph& graph, const std::vector<NodeId>& operands, NodeId result) {
  std::vector<DimId> summed;
  for (NodeId x : operands)
    for (DimId d : graph[x].type.shape.dims) {
      bool seen = Shape{summed}.has(d);
      if (!seen && !graph[result].type.shape.has(d))
        summed.push_back(d);
    }
  double terms = static_cast<double>(graph.true_elements({summed}));
  return {Init::Kind::normal, 1 / std::sqrt(terms)};
}

}  // namespace mtf
