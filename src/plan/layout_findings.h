// What the partitions of a job's phases could not do, or only with a loss: collected over all of
// them and said once for each cause, with the first tensor or op it happened in.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "mesh/layout.h"
#include "ops/builder.h"

namespace mtf {

class LayoutFindings {
 public:
  LayoutFindings(const Mesh& mesh, const LayoutRules& rules, const Numerics& numerics)
      : mesh_(mesh), rules_(rules), numerics_(numerics) {}

  // Rules that a walk over these dims of a node could not apply.
  void conflicts(const Graph&, const Node&, const std::vector<DimId>& dims,
                 const std::vector<WalkConflict>&, bool is_op);
  // A conversion that makes this many bytes of a tensor on every device, if that is over the limit.
  void gathered(const std::string& tensor, const Origin&, int64_t bytes);
  // A sum whose order depends on the layout, because these axes split this dim of it.
  void inexact(const Graph&, NodeId sum, DimId summed, const AxisList& axes);

  void report(Diagnostics&) const;

 private:
  struct Found {
    Diagnostic diagnostic;
    const LayoutRule* rule = nullptr;  // it is about; may be null
    std::set<std::string> scopes;      // of the ops and tensors it happens in
  };

  void once(const std::string& cause, const std::string& scope, const LayoutRule*,
            const std::function<Diagnostic()>& say);
  Diagnostic reused(const Graph&, const Node&, const std::vector<DimId>&, const WalkConflict&,
                    bool is_op) const;
  Diagnostic indivisible(const Graph&, const Node&, const std::vector<DimId>&,
                         const WalkConflict&) const;

  const Mesh& mesh_;
  const LayoutRules& rules_;
  const Numerics& numerics_;
  std::set<const LayoutRule*> conflicting_;
  std::map<std::string, size_t> index_;  // by cause
  std::vector<Found> found_;
};

}  // namespace mtf
