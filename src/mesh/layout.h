// Layout rules (dim -> axes) and the walk that applies them: the whole layout policy.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/source.h"
#include "mesh/mesh.h"

namespace mtf {

struct LayoutRule {
  struct Use {
    AxisId axis;
    bool soft = false;  // skipped where the axis is taken or does not divide
    SourceSpan span;
  };
  std::string dim;
  std::vector<Use> axes;  // major to minor
  SourceSpan span;        // of the dim's name
};

// The rule as a spec writes it, with one of its axes made soft: `batch: [data, "model?"]`. Quoted,
// for `?` before a bracket ends a word.
std::string softened(const LayoutRule&, AxisId soft, const Mesh&);

struct LayoutRules {
  using Override = std::pair<std::string, std::vector<LayoutRule>>;  // path pattern -> rules

  std::vector<LayoutRule> rules;
  std::vector<Override> tensors;
  int64_t gather_limit = INT64_MAX;  // bytes of the largest whole tensor a conversion may make

  // The last of `tensors` whose pattern matches this path; null if none does.
  const Override* override_of(std::string_view path) const;
  // The rules for a tensor of this path: those of its override, else `rules`.
  const std::vector<LayoutRule>& for_tensor(std::string_view path) const;
};

// A rule that could not be applied in a walk.
struct WalkConflict {
  const LayoutRule* rule = nullptr;
  const LayoutRule* other = nullptr;  // the rule that already took the axis; null: does not divide
  AxisId axis;
  size_t dim = 0, other_dim = 0;  // positions in the walked dims
};

// The walk of docs/LANGUAGE.md: over the dims of a tensor or of an op's iteration space, hard
// axes in order of the rules, then soft ones. `dims[i]` may be a block dim, which follows the rule
// of the dim it cuts and silently stays whole where an axis does not divide it. Returns the axes of
// each dim, major to minor; conflicts are appended if asked for.
std::vector<AxisList> walk(const std::vector<const Dim*>& dims, const Mesh&,
                           const std::vector<LayoutRule>&, std::vector<WalkConflict>* = nullptr);

}  // namespace mtf
