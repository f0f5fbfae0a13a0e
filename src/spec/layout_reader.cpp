// The layout table: rules in map or list form, alone or under `rules:`, with overrides by pattern.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/document.h"
#include "spec/reader.h"

namespace mtf {

// Short form: the rules themselves. Long form: a map of the reserved words.
void Reader::read(const YamlNode& node, const Key& key, LayoutRules& target, Range) {
  if (!is_long_layout(node))
    return read(node, key, target.rules);
  MapReader map(*this, node, key.text, key.span);
  fields(map, target);
  map.finish();
}

void Reader::read(const YamlNode& node, const Key& key, std::vector<LayoutRule>& target, Range) {
  if (!node.is_map() && !node.is_list())
    return report_type(node, key.text, "a map of dims to axes, or a list of such", diagnostics,
                       "such as `{batch: data, heads: model}`");
  for (const auto& [dim, axes] : node.entries)
    read_rule(dim, axes, target);
  for (const YamlNode& item : node.items) {
    if (!item.is_map()) {
      report_type(item, key.text, "a list of `dim: axes`", diagnostics);
      continue;
    }
    for (const auto& [dim, axes] : item.entries)
      read_rule(dim, axes, target);
  }
}

void Reader::read(const YamlNode& node, const Key& key,
                  std::vector<std::pair<std::string, std::vector<LayoutRule>>>& target, Range) {
  if (!expect_map(node, key))
    return;
  for (const auto& [pattern, rules] : node.entries) {
    if (rules.is_null())
      continue;
    auto& [text, list] = target.emplace_back();
    text = pattern.text;
    read(rules, pattern, list);
  }
}

// A rule that is left without axes, because the mesh does not have them, says nothing but its dim.
void Reader::read_rule(const Key& dim, const YamlNode& axes, std::vector<LayoutRule>& target) {
  if (axes.is_null() || !expect_name(dim, "a dim"))
    return;
  LayoutRule rule;
  rule.dim = dim.text;
  rule.span = dim.span;
  if (axes.is_list())
    for (const YamlNode& axis : axes.items)
      read_rule_axis(axis, rule);
  else
    read_rule_axis(axes, rule);
  target.push_back(std::move(rule));
}

void Reader::read_rule_axis(const YamlNode& node, LayoutRule& rule) {
  if (!node.is_scalar())
    return report_type(node, rule.dim, "an axis of the mesh, or a list of axes", diagnostics,
                       node.is_map() ? "sizes and padding stand in `dims:`" : "");
  std::string name = node.text;
  bool soft = name.ends_with('?');
  if (soft)
    name.pop_back();
  if (std::find(absent_axes_.begin(), absent_axes_.end(), name) != absent_axes_.end())
    return;
  AxisId axis = mesh_->find(name);
  if (axis.index < 0) {
    std::vector<std::string> known = absent_axes_;
    for (const Axis& a : mesh_->axes)
      known.push_back(a.name);
    const bool infers = mesh_ == &spec_.infer.mesh;
    std::string all = known.empty() ? "the spec has no `mesh:`" : "its axes are " + listed(known);
    if (infers && !spec_.has("infer.layout"))
      all += fmt::format(
          "; `infer:` takes this layout with a mesh of its own: add `{}: 1` to that mesh, or give "
          "`infer:` a layout too",
          name);
    for (std::string& candidate : known)
      candidate += soft ? "?" : "";
    std::vector<std::pair<SourceSpan, std::string>> notes;
    const SourceSpan mesh = spec_.span(infers ? "infer.mesh" : "mesh");
    if (mesh.file != node.span.file && !known.empty())
      notes = {{mesh, "this mesh holds"}};
    Help help = suggest(node.text, node.span, known, std::move(all));
    std::string meant = help.meant();
    if (meant.ends_with('?'))
      meant.pop_back();
    diagnostics.add({Code::layout_unknown_axis,
                     fmt::format("the mesh{} has no axis '{}'", infers ? " of `infer:`" : "", name),
                     node.span, std::move(notes), std::move(help)});
    axis = mesh_->find(meant);
    if (axis.index < 0)
      return;
  }
  for (const LayoutRule::Use& use : rule.axes)
    if (use.axis == axis) {
      diagnostics.add({Code::spec_range,
                       fmt::format("axis '{}' stands twice in one rule", name),
                       node.span,
                       {{use.span, "it is first given here"}},
                       "keep one of the two"});
      return;
    }
  rule.axes.push_back({axis, soft, node.span});
}

}  // namespace mtf
