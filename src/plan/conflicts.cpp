#include "plan/conflicts.h"

#include <fmt/format.h>

#include "base/text.h"

namespace mtf {
namespace {

// The divisors of n, as "1, 2 and 4".
std::string divisors(int64_t n) {
  std::vector<std::string> out;
  for (int64_t d = 1; d <= n && out.size() < 12; ++d)
    if (n % d == 0)
      out.push_back(std::to_string(d));
  return listed(out);
}

SourceSpan span_of(const LayoutRule& rule, AxisId axis) {
  for (const LayoutRule::Use& use : rule.axes)
    if (use.axis == axis)
      return use.span;
  return rule.span;
}

}  // namespace

void Conflicts::note(const Node& node, const std::vector<DimId>& dims,
                     const std::vector<WalkConflict>& conflicts, bool is_op) {
  if (node.phase != Phase::forward)  // the same rules conflict in the forward already
    return;
  for (const WalkConflict& c : conflicts) {
    const auto key = std::make_tuple(c.rule, c.other, static_cast<int>(c.axis.index));
    auto [it, fresh] = found_.try_emplace(key);
    if (fresh) {
      it->second = {c, dims, node.origin, is_op, node.op->name, {}};
      order_.push_back(key);
    }
    it->second.scopes.insert(node.origin.scope);
  }
}

void Conflicts::gather(const std::string& tensor, const Origin& origin, int64_t bytes,
                       Diagnostics& diagnostics) {
  if (!gathers_.insert(tensor).second)
    return;
  diagnostics.add(
      {Code::layout_gather_limit,
       fmt::format(
           "gathering {} makes a tensor of {} bytes on every device; limits.gather allows {}",
           tensor, bytes, rules_.gather_limit),
       origin.span,
       {},
       ""});
}

void Conflicts::report(Diagnostics& diagnostics) const {
  for (const auto& key : order_) {
    const Found& f = found_.at(key);
    diagnostics.add(f.conflict.other ? reused(f) : indivisible(f));
  }
}

Diagnostic Conflicts::reused(const Found& f) const {
  const WalkConflict& c = f.conflict;
  const Dim& dim = graph_[f.dims[c.dim]];
  const Dim& other = graph_[f.dims[c.other_dim]];
  const std::string& axis = mesh_.axes[static_cast<size_t>(c.axis.index)].name;
  const std::string what = f.is_op ? fmt::format("op {}", f.origin.scope) : f.origin.scope;
  Diagnostic d{
      Code::layout_axis_reused,
      fmt::format("axis '{}' already splits '{}' in {} {}; it cannot also split '{}'", axis,
                  other.name, what, graph_.show({f.dims}), dim.name),
      c.rule->span,
      {{span_of(*c.other, c.axis), fmt::format("'{}' is split over '{}' here", other.name, axis)},
       {f.origin.span, fmt::format("{} is made here", f.origin.scope)}},
      fmt::format("drop one rule, or make this one soft: `{}: {}?`", dim.rule, axis)};
  if (f.scopes.size() > 1)
    d.notes.push_back(
        {{},
         fmt::format("{} more op{} conflict{} in the same way", f.scopes.size() - 1,
                     f.scopes.size() == 2 ? "" : "s", f.scopes.size() == 2 ? "s" : "")});
  return d;
}

Diagnostic Conflicts::indivisible(const Found& f) const {
  const WalkConflict& c = f.conflict;
  const Dim& dim = graph_[f.dims[c.dim]];
  int64_t ways = 1;
  std::string axes;
  for (const LayoutRule::Use& use : c.rule->axes)
    if (!use.soft) {
      ways *= mesh_.size(use.axis);
      const Axis& axis = mesh_.axes[static_cast<size_t>(use.axis.index)];
      axes += fmt::format("{}{}={}", axes.empty() ? "" : ", ", axis.name, axis.size);
    }
  return {
      Code::layout_indivisible,
      fmt::format("'{}'={} is not divisible by {}; axis sizes that would do: {}", dim.name,
                  dim.size, axes, divisors(dim.size)),
      c.rule->span,
      {{f.origin.span, fmt::format("{} {} has this dim", f.origin.scope, graph_.show({f.dims}))}},
      fmt::format("change the dim or the mesh, or make the rule soft: `{}: {}?`", dim.rule,
                  mesh_.axes[static_cast<size_t>(c.axis.index)].name)};
}

}  // namespace mtf
