// A graph under construction with the dims that tests of ops use.
#pragma once

#include "ops/autodiff.h"
#include "ops/interpreter.h"

namespace mtf::testing {

struct Building {
  Graph g;
  Numerics numerics;
  Diagnostics diagnostics;
  Builder b{g, numerics, diagnostics};

  DimId dim(const std::string& name, int64_t size) { return g.add_dim({name, size, {}, {}}); }
  NodeId parameter(const std::string& name, std::vector<DimId> dims, DType type = DType::f32) {
    return b.leaf("parameter", name, {{std::move(dims)}, type});
  }
  NodeId input(const std::string& name, std::vector<DimId> dims, DType type = DType::f32) {
    return b.leaf("input", name, {{std::move(dims)}, type});
  }
  // The values of one node when leaves have these values, row-major.
  std::vector<double> values(NodeId x, const std::map<std::string, std::vector<double>>& leaves) {
    std::map<std::string, Tensor> tensors;
    for (const auto* list : {&g.inputs, &g.parameters, &g.states})
      for (const Named& n : *list)
        tensors[n.name] = {b.shape(n.node).dims, leaves.at(n.name)};
    return interpret(g, tensors)[static_cast<size_t>(x.index)].data;
  }
  std::string shown(NodeId x) const { return g.show(g[x].type.shape); }
  // The message of the only diagnostic, or all of them.
  std::string message() const {
    std::string all;
    for (const Diagnostic& d : diagnostics.all())
      all += (all.empty() ? "" : " | ") + d.message;
    return all;
  }
};

}  // namespace mtf::testing
