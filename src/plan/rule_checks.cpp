#include "plan/rule_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "plan/names.h"
#include "spec/scalars.h"

namespace mtf {
namespace {

bool splits(const LayoutRule& rule, const Program& p, const Value& v) {
  for (size_t i = 0; i < v.type.shape.dims.size(); ++i) {
    if (p[v.type.shape.dims[i]].rule != rule.dim)
      continue;
    for (const LayoutRule::Use& use : rule.axes)
      if (std::count(v.layout.split[i].begin(), v.layout.split[i].end(), use.axis))
        return true;
  }
  return false;
}

// What patterns of `layout.tensors` are matched with.
std::string path_of(const Value& v) {
  if (v.storage == Storage::gradient && v.name.starts_with("gradient:"))
    return v.name.substr(9);
  return v.storage == Storage::state ? v.name.substr(0, v.name.rfind('/')) : v.name;
}

bool matches_any(const std::string& pattern, const std::vector<Program>& programs) {
  for (const Program& p : programs)
    for (const Value& v : p.values)
      if (path_matches(pattern, path_of(v)))
        return true;
  return false;
}

// By a value of any program whose path matches; an empty pattern matches all.
bool used(const LayoutRule& rule, const std::string& pattern,
          const std::vector<Program>& programs) {
  for (const Program& p : programs)
    for (const Value& v : p.values)
      if (splits(rule, p, v) && (pattern.empty() || path_matches(pattern, path_of(v))))
        return true;
  return false;
}

// Whether a value of any program at a path that matches has the dim of the rule.
bool has_dim(const LayoutRule& rule, const std::string& pattern,
             const std::vector<Program>& programs) {
  for (const Program& p : programs)
    for (const Value& v : p.values)
      if (pattern.empty() || path_matches(pattern, path_of(v)))
        for (DimId d : v.type.shape.dims)
          if (p[d].rule == rule.dim)
            return true;
  return false;
}

std::string why_unused(const LayoutRule& rule, const std::string& pattern,
                       const std::vector<Program>& programs) {
  if (!has_dim(rule, pattern, programs))
    return "no tensor " + (pattern.empty() ? "" : "of '" + pattern + "' ") + "has this dim";
  const bool soft = std::all_of(rule.axes.begin(), rule.axes.end(),
                                [](const LayoutRule::Use& use) { return use.soft; });
  return soft ? "wherever it could, its axes are taken or do not divide the dim"
              : "every op needs the dim whole";
}

void warn_of_unused(const LayoutRule& rule, const std::string& pattern,
                    const std::vector<Program>& programs, Diagnostics& diagnostics) {
  if (!rule.axes.empty() && !used(rule, pattern, programs))
    diagnostics.add({Code::layout_rule_unused,
                     fmt::format("the rule for '{}' splits nothing: {}", rule.dim,
                                 why_unused(rule, pattern, programs)),
                     rule.span,
                     {},
                     "leave the rule out"});
}

Diagnostic unknown_dim(const std::string& dim, SourceSpan where,
                       const std::set<std::string>& known) {
  const std::vector<std::string> names(known.begin(), known.end());
  return {Code::layout_unknown_dim,
          fmt::format("no tensor has a dim '{}'", dim),
          where,
          {},
          suggest(dim, where, names, "the dims are " + listed(names))};
}

// The path nearest to a pattern, or what paths are like.
Help like_paths(const std::string& pattern, const std::set<std::string>& paths) {
  std::vector<std::string> all;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(all), [](const std::string& path) {
    return !path.empty() && path.find(':') == std::string::npos;  // driver:lr is ours
  });
  const size_t shown = std::min<size_t>(all.size(), 3);
  return suggest(pattern, {}, all,
                 all.empty() ? "" : "there are paths such as " + listed({all.data(), shown}));
}

// Each pattern that matches none of the paths.
void warn_of_vain(const std::string& pattern, const std::set<std::string>& paths, SourceSpan where,
                  const char* what, Diagnostics& diagnostics) {
  const bool matches = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return path_matches(pattern, path);
  });
  if (!matches)
    diagnostics.add({Code::spec_pattern_unused,
                     fmt::format("'{}' matches no {}", pattern, what),
                     where,
                     {},
                     like_paths(pattern, paths)});
}

}  // namespace

void check_patterns(const Spec& spec, const std::vector<PhaseGraph>& phases,
                    Diagnostics& diagnostics) {
  std::set<std::string> parameters, tensors;
  for (const PhaseGraph& phase : phases) {
    for (const Named& p : phase.graph.parameters)
      parameters.insert(p.name);
    if (!spec.layout.tensors.empty())
      for (const Node& node : phase.graph.nodes)
        tensors.emplace(tensor_path(node));
  }
  for (const auto& [pattern, rules] : spec.layout.tensors)
    warn_of_vain(pattern, tensors, spec.span("layout.tensors", pattern), "tensor", diagnostics);
  if (!spec.train)
    return;
  for (const std::string& pattern : spec.train->freeze)
    warn_of_vain(pattern, parameters, spec.span("train.freeze", pattern), "parameter", diagnostics);
  for (const std::string& pattern : spec.train->optimizer.exclude)
    warn_of_vain(pattern, parameters, spec.span("train.optimizer.adamw.exclude", pattern),
                 "parameter", diagnostics);
}

void check_rule_names(const Spec& spec, const Graph& graph,
                      const std::set<std::string, std::less<>>& other_words,
                      Diagnostics& diagnostics) {
  std::set<std::string> tensor_dims, known;
  for (const Dim& d : graph.dims)
    if (d.block_of.index < 0)
      tensor_dims.insert(d.rule);
  known = tensor_dims;
  for (const DimSpec& d : spec.dims)
    known.insert(d.name);
  for (const auto& [pattern, rules] : spec.layout.tensors)
    for (const LayoutRule& rule : rules)
      if (!known.count(rule.dim) && !other_words.count(rule.dim))
        diagnostics.add(unknown_dim(rule.dim, rule.span, known));
  for (const LayoutRule& rule : spec.layout.rules) {
    const auto& repeats = graph.repeats;
    if (!known.count(rule.dim)) {
      if (other_words.count(rule.dim))
        continue;
      diagnostics.add(unknown_dim(rule.dim, rule.span, known));
    } else if (!rule.axes.empty() && !tensor_dims.count(rule.dim) &&
               std::any_of(repeats.begin(), repeats.end(),
                           [&](const Repeat& r) { return r.dim == rule.dim; })) {
      diagnostics.add({Code::spec_later,
                       fmt::format("'{}' counts the copies of a repeat; placing copies on ranks "
                                   "(pipeline stages) belongs "
                                   "to the language, but this version of mtf does not have it yet",
                                   rule.dim),
                       rule.span,
                       {},
                       "leave the rule out, or give its axis size 1"});
    }
  }
}

void check_block_names(const Spec& spec, const Graph& graph, Diagnostics& diagnostics) {
  std::set<std::string> known;
  for (const Dim& d : graph.dims)
    if (d.block_of.index < 0 && is_name(d.name))  // a made name, such as length@new, is no help
      known.insert(d.name);
  for (const DimSpec& d : spec.dims)
    known.insert(d.name);
  for (const auto& [dim, count] : spec.numerics.blocks.of_dim)
    if (!known.count(dim)) {
      Diagnostic d = unknown_dim(dim, count.span, known);
      d.code = Code::model_unknown_name;
      diagnostics.add(std::move(d));
    }
}

void check_rule_uses(const LayoutRules& layout, const std::vector<Program>& programs,
                     Diagnostics& diagnostics) {
  for (const LayoutRule& rule : layout.rules)
    warn_of_unused(rule, "", programs, diagnostics);
  for (const auto& [pattern, rules] : layout.tensors)
    if (matches_any(pattern, programs))
      for (const LayoutRule& rule : rules)
        warn_of_unused(rule, pattern, programs, diagnostics);
}

}  // namespace mtf
