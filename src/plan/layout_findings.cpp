#include "plan/layout_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "plan/lower.h"
#include "plan/style.h"

namespace mtf {
namespace {

SourceSpan span_of(const LayoutRule& rule, AxisId axis) {
  for (const LayoutRule::Use& use : rule.axes)
    if (use.axis == axis)
      return use.span;
  return rule.span;
}

// The most microbatches, fewer than now, whose size a number divides; 0: there are none.
int64_t fewer_parts(const Dim& dim, int64_t divisor) {
  const int64_t whole = dim.size * dim.parts;
  for (int64_t parts = dim.parts - 1; parts > 0; --parts)
    if (whole % parts == 0 && whole / parts % divisor == 0)
      return parts;
  return 0;
}

// What a sum gives: a step, or in the backward of one the gradient that the sum ends in.
std::string made_by(const Graph& graph, NodeId sum) {
  const Node& node = graph[sum];
  if (node.phase != Phase::backward)
    return node.origin.scope;
  std::set<NodeId> made_of = {sum};
  for (int32_t i = sum.index; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    const Node& next = graph.nodes[static_cast<size_t>(i)];
    if (next.origin.scope != node.origin.scope)
      break;
    const bool reads = std::any_of(next.inputs.begin(), next.inputs.end(),
                                   [&](NodeId in) { return made_of.contains(in); });
    if (!reads && i > sum.index)
      continue;
    made_of.insert({i});
    if (next.gradient_of.index >= 0)
      return fmt::format("the gradient of {}", graph[next.gradient_of].origin.scope);
  }
  return fmt::format("the backward of {}", node.origin.scope);
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
                          const LayoutRule* rule, const std::function<Diagnostic()>& say) {
  const auto [it, fresh] = index_.try_emplace(cause, found_.size());
  if (fresh)
    found_.push_back({say(), rule, {}});
  found_[it->second].scopes.insert(scope);
}

void LayoutFindings::conflicts(const Graph& graph, const Node& node, const std::vector<DimId>& dims,
                               const std::vector<WalkConflict>& conflicts, bool is_op) {
  for (const WalkConflict& c : conflicts)
    conflicting_.insert({c.rule, c.other});
  if (node.phase != Phase::forward)  // the same rules conflict in the forward already
    return;
  for (const WalkConflict& c : conflicts)
    once(fmt::format("{} {} {}", fmt::ptr(c.rule), fmt::ptr(c.other), int{c.axis.index}),
         node.origin.scope, c.rule, [&] {
           return c.other ? reused(graph, node, dims, c, is_op) : indivisible(graph, node, dims, c);
         });
}

void LayoutFindings::gathered(const std::string& tensor, const Origin& origin, int64_t bytes) {
  if (bytes <= rules_.gather_limit)
    return;
  const SourceSpan& at = origin.span;
  once(fmt::format("gather {}:{}:{}", at.file, at.line, at.column), tensor, nullptr,
       [&]() -> Diagnostic {
         return {
             Code::layout_gather_limit,
             fmt::format("gathering {} makes {} bytes ({}) on every device; limits.gather allows "
                         "{} ({})",
                         tensor, with_commas(bytes), in_bytes(bytes),
                         with_commas(rules_.gather_limit), in_bytes(rules_.gather_limit)),
             at,
             {},
             "split what reads it over the same axis, or raise `limits: {gather: ...}`"};
       });
}

void LayoutFindings::inexact(const Graph& graph, NodeId sum, DimId summed, const AxisList& axes) {
  if (numerics_.fast)
    return;
  const Origin& at = graph[sum].origin;
  const RuleUse by = rule_for(rules_.rules, graph[summed], axes[0]);
  once(fmt::format("sum {} {}", fmt::ptr(by.use), graph[summed].name), made_by(graph, sum), by.rule,
       [&] {
         const Dim& dim = graph[summed];
         const DimId blocks = block_image(graph[sum], summed);
         const int64_t ways = mesh_.size(axes), count = blocks.index < 0 ? 1 : graph[blocks].size;
         std::string help =
             std::has_single_bit(static_cast<uint64_t>(ways))
                 ? fmt::format(
                       "cut it into {} blocks, for equal bits on every mesh that splits '{}' by at "
                       "most {}: `blocks: {{{}: {}}}` in `numerics:`",
                       ways, dim.name, ways, dim.rule, ways)
                 : fmt::format(
                       "{} is no power of two, so that no number of blocks gives equal bits: split "
                       "'{}' another way",
                       ways, dim.name);
         if (!numerics_.exact_required)
           help += "; or let the bits differ: `exact: fast` in `numerics:`";
         Diagnostic d{
             Code::layout_inexact,
             fmt::format("{} splits {} by {}, but its sum in {} is added up in {} block{}: the "
                         "last bits of results will differ from other meshes",
                         mesh_.show(axes), dim.show(), ways, made_by(graph, sum), count,
                         count == 1 ? "" : "s"),
             by.use ? by.use->span : at.span,
             {},
             std::move(help),
             numerics_.exact_required ? Severity::error : Severity::warning};
         if (by.use)
           d.notes = {{at.span, fmt::format("{} is made here", at.scope)}};
         return d;
       });
}

void LayoutFindings::report(Diagnostics& diagnostics) const {
  for (const Found& f : found_) {
    if (f.diagnostic.code == Code::layout_inexact && conflicting_.contains(f.rule))
      continue;  // a rule that cannot be is not judged further
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
      fmt::format("drop one rule, or make this one soft: `{}`", softened(*c.rule, c.axis, mesh_))};
}

Diagnostic LayoutFindings::indivisible(const Graph& graph, const Node& node,
                                       const std::vector<DimId>& dims,
                                       const WalkConflict& c) const {
  const Dim& dim = graph[dims[c.dim]];
  AxisList axes;
  for (const LayoutRule::Use& use : c.rule->axes)
    if (!use.soft)
      axes.push_back(use.axis);
  const int64_t ways = mesh_.size(axes), below = dim.size / ways * ways;
  const std::string what = dim.parts == 1
                               ? fmt::format("'{}'={}", dim.name, dim.show_size())
                               : fmt::format("'{}'={} in {} microbatches of {}", dim.name,
                                             dim.size * dim.parts, dim.parts, dim.size);
  const std::string sizes =
      below > 0 ? fmt::format("{} or {}", below * dim.parts, (below + ways) * dim.parts)
                : std::to_string(ways * dim.parts);
  std::vector<std::string> names;
  for (AxisId a : axes)
    names.push_back(fmt::format("'{}'", mesh_.axes[static_cast<size_t>(a.index)].name));
  std::string help = fmt::format(
      "give {} such a size; or make the rule soft, which leaves '{}' whole here: `{}`; or ",
      listed(names), dim.name, softened(*c.rule, c.axis, mesh_));
  const int64_t padded = (dim.true_size() + ways - 1) / ways * ways;
  if (dim.parts == 1 && 2 * padded <= 3 * dim.true_size())
    help += fmt::format("pad it to a multiple of {}, in `dims:`: `{}: {{size: {}, pad: {}}}`", ways,
                        dim.name, dim.true_size(), ways);
  else if (const int64_t fewer = fewer_parts(dim, ways); fewer > 0)
    help += fmt::format("take {} microbatch{}", fewer, fewer == 1 ? "" : "es");
  else
    help += fmt::format("make it {}", sizes);
  return {Code::layout_indivisible,
          fmt::format("{} is not divisible by {}; axis sizes that would do: {}", what,
                      mesh_.show(axes), divisors(dim.size, ways)),
          c.rule->span,
          {{node.origin.span,
            fmt::format("{} {} has this dim", node.origin.scope, graph.show({dims}))}},
          std::move(help)};
}

}  // namespace mtf
