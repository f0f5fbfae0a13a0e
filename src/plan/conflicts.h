// Collects what the walks could not do and says it once for each pair of rules, with the first
// tensor or op it happened in.
#pragma once

#include <map>
#include <set>
#include <tuple>

#include "base/diagnostics.h"
#include "mesh/layout.h"
#include "ops/op.h"

namespace mtf {

class Conflicts {
 public:
  Conflicts(const Graph& graph, const Mesh& mesh, const LayoutRules& rules)
      : graph_(graph), mesh_(mesh), rules_(rules) {}

  void note(const Node&, const std::vector<DimId>& dims, const std::vector<WalkConflict>&,
            bool is_op);
  // A conversion that makes a larger whole tensor than the limit allows.
  void gather(const std::string& tensor, const Origin&, int64_t bytes, Diagnostics&);
  void report(Diagnostics&) const;
  bool any() const { return !found_.empty(); }

 private:
  struct Found {
    WalkConflict conflict;
    std::vector<DimId> dims;
    Origin origin;
    bool is_op = false;
    std::string_view op;
    std::set<std::string> scopes;  // of all ops and tensors it happens in
  };
  Diagnostic reused(const Found&) const;
  Diagnostic indivisible(const Found&) const;

  const Graph& graph_;
  const Mesh& mesh_;
  const LayoutRules& rules_;
  std::map<std::tuple<const LayoutRule*, const LayoutRule*, int>, Found> found_;
  std::vector<std::tuple<const LayoutRule*, const LayoutRule*, int>> order_;
  std::set<std::string> gathers_;
};

}  // namespace mtf
