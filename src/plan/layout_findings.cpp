#include "plan/layout_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace mtf {
namespace {

SourceSpan span_of(const LayoutRule& rule, AxisId axis) {
  for (const LayoutRule::Use& use : rule.axes)
    if (use.axis == axis)
      return use.span;
  return rule.span;
}

// What the others do that have the same mistake.
std::string others(Code code, size_t n) {
  switch (code) {
    case Code::layout_axis_reused:
      return fmt::format("{} more op{} conflict{} in the same way", n, n == 1 ? "" : "s",
                         n == 1 ? "s" : "");
    case Code::layout_inexact:
      return fmt::format("{} more sum{} split in the same way", n, n == 1 ? " is" : "s are");
    case Code::layout_gather_limit:
      return fmt::format("{} more tensor{} gathered in the same way", n, n == 1 ? " is" : "s are");
    default:
      return "";
  }
}

}  // namespace

void LayoutFindings::once(const std::string& cause, const std::string& scope,
                          const std::function<Diagnostic()>& say) {
  const auto [it, fresh] = index_.try_emplace(cause, found_.size());
  if (fresh)
    found_.push_back({say(), {}});
  found_[it->second].scopes.insert(scope);
}

void LayoutFindings::conflicts(const Graph& graph, const Node& node, const std::vector<DimId>& dims,
                               const std::vector<WalkConflict>& conflicts, bool is_op) {
  conflict_ = conflict_ || !conflicts.empty();
  if (node.phase != Phase::forward)  // the same rules conflict in the forward already
    return;
  for (const WalkConflict& c : conflicts)
    once(fmt::format("{} {} {}", fmt::ptr(c.rule), fmt::ptr(c.other), int{c.axis.index}),
         node.origin.scope, [&] {
           return c.other ? reused(graph, node, dims, c, is_op) : indivisible(graph, node, dims, c);
         });
}

void LayoutFindings::gathered(const std::string& tensor, const Origin& origin, int64_t bytes) {
  if (bytes <= rules_.gather_limit)
    return;
  const SourceSpan& at = origin.span;
  once(fmt::format("gather {}:{}:{}", at.file, at.line, at.column), tensor, [&]() -> Diagnostic {
    return {Code::layout_gather_limit,
            fmt::format("gathering {} makes {} bytes ({}) on every device; limits.gather allows "
                        "{} ({})",
                        tensor, with_commas(bytes), in_bytes(bytes),
                        with_commas(rules_.gather_limit), in_bytes(rules_.gather_limit)),
            at,
            {},
            "split what reads it over the same axis, or raise `limits: {gather: ...}`"};
  });
}

void LayoutFindings::inexact(const Graph& graph, const std::vector<DimId>& summed,
                             const Origin& origin) {
  if (numerics_.fast)
    return;
  const SourceSpan& at = origin.span;
  once(fmt::format("sum {}:{}:{}", at.file, at.line, at.column), origin.scope, [&]() -> Diagnostic {
    std::string dims;
    for (DimId d : summed)
      dims += fmt::format("{}{}={}", dims.empty() ? "" : ", ", graph[d].name, graph[d].size);
    return {Code::layout_inexact,
            fmt::format("the sum over {} in {} is split where its blocks do not allow it: "
                        "results will differ in rounding from other layouts",
                        dims, origin.scope),
            at,
            {},
            "raise `numerics.blocks` for these dims, or write `exact: fast`",
            numerics_.exact_required ? Severity::error : Severity::warning};
  });
}

void LayoutFindings::report(Diagnostics& diagnostics) const {
  for (const Found& f : found_) {
    if (conflict_ && f.diagnostic.code == Code::layout_inexact)
      continue;  // a layout that cannot be is not judged further
    Diagnostic d = f.diagnostic;
    if (const std::string more = others(d.code, f.scopes.size() - 1);
        f.scopes.size() > 1 && !more.empty())
      d.notes.push_back({{}, more});
    diagnostics.add(std::move(d));
  }
}

Diagnostic LayoutFindings::reused(const Graph& graph, const Node& node,
                                  const std::vector<DimId>& dims, const WalkConflict& c,
                                  bool is_op) const {
  const Dim& dim = graph[dims[c.dim]];
  const Dim& other = graph[dims[c.other_dim]];
  const std::string& axis = mesh_.axes[static_cast<size_t>(c.axis.index)].name;
  const std::string& scope = node.origin.scope;
  return {
      Code::layout_axis_reused,
      fmt::format("axis '{}' already splits '{}' in {}{} {}; it cannot also split '{}'", axis,
                  other.name, is_op ? "op " : "", scope, graph.show({dims}), dim.name),
      c.rule->span,
      {{span_of(*c.other, c.axis), fmt::format("'{}' is split over '{}' here", other.name, axis)},
       {node.origin.span, fmt::format("{} is made here", scope)}},
      fmt::format("drop one rule, or make this one soft: `{}: {}?`", dim.rule, axis)};
}

Diagnostic LayoutFindings::indivisible(const Graph& graph, const Node& node,
                                       const std::vector<DimId>& dims,
                                       const WalkConflict& c) const {
  const Dim& dim = graph[dims[c.dim]];
  int64_t ways = 1;
  std::string axes;
  for (const LayoutRule::Use& use : c.rule->axes)
    if (!use.soft) {
      ways *= mesh_.size(use.axis);
      const Axis& axis = mesh_.axes[static_cast<size_t>(use.axis.index)];
      axes += fmt::format("{}{}={}", axes.empty() ? "" : " * ", axis.name, axis.size);
    }
  const int64_t below = dim.size / ways * ways;
  const std::string sizes =
      below > 0 ? fmt::format("{} or {}", below * dim.parts, (below + ways) * dim.parts)
                : std::to_string(ways * dim.parts);
  const std::string part = dim.parts > 1 ? fmt::format(" (a part of {} in {} microbatches)",
                                                       dim.size * dim.parts, dim.parts)
                                         : "";
  const std::string pad = dim.parts > 1
                              ? ""
                              : fmt::format("pad the dim: `{}: {{size: {}, pad: {}}}`; or ",
                                            dim.name, dim.true_size(), ways);
  return {
      Code::layout_indivisible,
      fmt::format("'{}'={}{} is not divisible by {}; axis sizes that would do: {}", dim.name,
                  dim.show_size(), part, axes, divisors(dim.size, ways)),
      c.rule->span,
      {{node.origin.span,
        fmt::format("{} {} has this dim", node.origin.scope, graph.show({dims}))}},
      fmt::format("{}change the mesh, make '{}' {}, or make the rule soft: `{}: {}?`", pad,
                  dim.name, sizes, dim.rule, mesh_.axes[static_cast<size_t>(c.axis.index)].name)};
}

}  // namespace mtf
