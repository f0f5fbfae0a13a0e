// The walk: which axes each dim of a tensor or op gets.
#include "mesh/layout.h"

#include <algorithm>

#include "base/text.h"

namespace mtf {
namespace {

struct Taken {
  size_t dim;
  const LayoutRule* rule;
};

class Walk {
 public:
  Walk(const std::vector<const Dim*>& dims, const Mesh& mesh, std::vector<WalkConflict>* conflicts)
      : dims_(dims),
        mesh_(mesh),
        conflicts_(conflicts),
        by_axis_(mesh.axes.size()),
        split_(dims.size()) {}

  void take(const LayoutRule& rule, const LayoutRule::Use& use) {
    for (size_t i = 0; i < dims_.size(); ++i)
      if (dims_[i]->rule == rule.dim)
        take(rule, use, i);
  }

  // The axes of dim i in the order in which its rule writes them.
  std::vector<AxisList> finish(const std::vector<LayoutRule>& rules) {
    for (size_t i = 0; i < dims_.size(); ++i) {
      AxisList ordered;
      for (const LayoutRule& rule : rules)
        for (const LayoutRule::Use& use : rule.axes)
          if (rule.dim == dims_[i]->rule &&
              std::count(split_[i].begin(), split_[i].end(), use.axis) &&
              !std::count(ordered.begin(), ordered.end(), use.axis))
            ordered.push_back(use.axis);
      split_[i] = ordered;
    }
    return std::move(split_);
  }

 private:
  void take(const LayoutRule& rule, const LayoutRule::Use& use, size_t i) {
    auto& taken = by_axis_[static_cast<size_t>(use.axis.index)];
    const bool block = dims_[i]->block_of.index >= 0;
    if (taken) {
      if (!use.soft && taken->dim != i)
        conflict({&rule, taken->rule, use.axis, i, taken->dim});
      return;
    }
    if (dims_[i]->size % (mesh_.size(split_[i]) * mesh_.size(use.axis)) != 0) {
      if (!use.soft && !block)
        conflict({&rule, nullptr, use.axis, i, i});
      return;
    }
    taken = Taken{i, &rule};
    split_[i].push_back(use.axis);
  }

  void conflict(WalkConflict c) {
    if (conflicts_)
      conflicts_->push_back(c);
  }

  const std::vector<const Dim*>& dims_;
  const Mesh& mesh_;
  std::vector<WalkConflict>* conflicts_;
  std::vector<std::optional<Taken>> by_axis_;
  std::vector<AxisList> split_;
};

}  // namespace

std::string softened(const LayoutRule& rule, AxisId soft, const Mesh& mesh) {
  std::string axes;
  for (const LayoutRule::Use& use : rule.axes) {
    const std::string& name = mesh.axes[static_cast<size_t>(use.axis.index)].name;
    axes += axes.empty() ? "" : ", ";
    axes += use.soft || use.axis == soft ? "\"" + name + "?\"" : name;
  }
  return rule.dim + ": " + (rule.axes.size() == 1 ? axes : "[" + axes + "]");
}

const LayoutRules::Override* LayoutRules::override_of(std::string_view path) const {
  for (size_t i = tensors.size(); i-- > 0;)
    if (path_matches(tensors[i].first, path))
      return &tensors[i];
  return nullptr;
}

const std::vector<LayoutRule>& LayoutRules::for_tensor(std::string_view path) const {
  const Override* own = override_of(path);
  return own ? own->second : rules;
}

std::vector<AxisList> walk(const std::vector<const Dim*>& dims, const Mesh& mesh,
                           const std::vector<LayoutRule>& rules,
                           std::vector<WalkConflict>* conflicts) {
  Walk w(dims, mesh, conflicts);
  for (bool soft : {false, true})
    for (const LayoutRule& rule : rules)
      for (const LayoutRule::Use& use : rule.axes)
        if (use.soft == soft)
          w.take(rule, use);
  return w.finish(rules);
}

}  // namespace mtf
