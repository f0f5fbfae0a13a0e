#include "plan/names.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ops/op.h"

namespace mtf {

DimId Alias::to_base(DimId seen) const {
  for (const auto& [own, other] : renamed)
    if (other == seen)
      return own;
  return seen;
}

DimId Alias::from_base(DimId own) const {
  for (const auto& [mine, other] : renamed)
    if (mine == own)
      return other;
  return own;
}

std::string_view tensor_path(const Node& node) {
  const auto* attribute = node.attrs.get<std::string>("name");
  if (!attribute || attribute->starts_with("cache:"))
    return node.origin.scope;
  const std::string_view name = *attribute;
  if (name.starts_with("gradient:"))
    return name.substr(9);
  return node.op->name == "state" ? name.substr(0, name.rfind('/')) : name;
}

std::string folded(std::string_view path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    out += path[i];
    if (path[i] != '[')
      continue;
    const size_t end = path.find(']', i);
    out += "*";
    i = end == std::string_view::npos ? path.size() : end - 1;
  }
  return out;
}

Names::Names(const Graph& graph) {
  const size_t n = graph.nodes.size();
  aliases_.resize(n);
  needed_.assign(n, 0);
  output_.assign(n, 0);
  generated_.assign(n, 0);
  readers_.assign(n, 0);
  mark_needed(graph);
  for (size_t i = 0; i < n; ++i) {
    const Node& node = graph.nodes[i];
    const NodeId id{static_cast<int32_t>(i)};
    if (!node.op->name_only) {
      aliases_[i] = {id, {}};
      generated_[i] = is_generated(node);
      continue;
    }
    const Alias& inner = of(node.inputs[0]);
    aliases_[i].base = inner.base;
    DimPairs own;
    if (const auto* pairs = node.attrs.get<DimPairs>("dims"))
      own = *pairs;
    const Alias step{id, own};
    for (DimId d : graph[inner.base].type.shape.dims) {
      const DimId seen = step.from_base(inner.from_base(d));
      if (seen != d)
        aliases_[i].renamed.emplace_back(d, seen);
    }
  }
  count_readers(graph);
}

void Names::mark_needed(const Graph& graph) {
  for (const Named& output : graph.outputs)
    needed_[static_cast<size_t>(output.node.index)] = 1;
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (needed_[i])
      for (NodeId in : graph.nodes[i].inputs)
        needed_[static_cast<size_t>(in.index)] = 1;
}

void Names::count_readers(const Graph& graph) {
  std::vector<size_t> last_reader(graph.nodes.size(), SIZE_MAX);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed_[i] || graph.nodes[i].op->name_only)
      continue;
    for (NodeId in : graph.nodes[i].inputs) {
      const auto base = static_cast<size_t>(of(in).base.index);
      if (std::exchange(last_reader[base], i) != i)
        ++readers_[base];
    }
  }
  for (const Named& output : graph.outputs)
    output_[static_cast<size_t>(of(output.node).base.index)] = 1;
}

bool Names::is_generated(const Node& node) const {
  const bool leaf = node.op->kernel.empty();
  if (leaf)  // a scalar input lies everywhere
    return node.op->name == "input" && node.type.shape.dims.empty();
  if (node.op->role || node.op->movement)
    return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](NodeId in) { return generated_[static_cast<size_t>(of(in).base.index)]; });
}

}  // namespace mtf
