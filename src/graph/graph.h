// The Graph: what is computed, on named dims, with every order of summation and every rounding
// fixed (docs/NUMERICS.md) and no word about the mesh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/source.h"
#include "mesh/mesh.h"

namespace mtf {

struct OpDef;

struct NodeId {
  int32_t index = -1;
  auto operator<=>(const NodeId&) const = default;
};

struct Origin {
  SourceSpan span;
  std::string scope;  // path of the step: "layers[3]/attention/q"
};

// Forward, backward, update: equal conversions are made once within each and never carried across.
enum class Phase : uint8_t { forward, backward, update };

struct Node {  // one node, one result
  const OpDef* op = nullptr;
  std::vector<NodeId> inputs;
  Attrs attrs;
  Type type;
  Origin origin;
  Phase phase = Phase::forward;
  int32_t composite = -1;  // index into Graph::composites of the composite op this is a part of
  NodeId gradient_of;      // the value whose gradient this node is; index -1 if it is none
};

// A composite op (attention, softmax, rms_norm, ...) as it was written: its parts are ordinary
// nodes that carry its index; its gradient is its own formula, not that of its parts.
struct Composite {
  const OpDef* op = nullptr;
  std::vector<NodeId> inputs;
  Attrs attrs;
  NodeId result;
  std::vector<NodeId> saved;  // row statistics and the like that the gradient reads
};

// What a leaf node (op input, parameter, state) stands for.
struct Named {
  std::string name;
  NodeId node;
};

struct Repeat {     // a block in several copies, one after the other
  std::string dim;  // that counts them
  int64_t times = 0;
  SourceSpan span;
};

struct Graph {
  std::vector<Dim> dims;
  std::vector<Node> nodes;  // in topological order
  std::vector<Composite> composites;
  std::vector<Named> inputs, parameters, states, outputs;
  std::vector<Repeat> repeats;  // those that a dim counts, in order
  NodeId loss;                  // scalar to report: the quotient; index -1 if there is none
  NodeId loss_sum;              // what is differentiated
  NodeId loss_count;  // what gradients are divided by in `update`; index -1: by microbatches

  const Node& operator[](NodeId id) const { return nodes[static_cast<size_t>(id.index)]; }
  Node& operator[](NodeId id) { return nodes[static_cast<size_t>(id.index)]; }
  const Dim& operator[](DimId id) const { return dims[static_cast<size_t>(id.index)]; }
  DimId find_dim(std::string_view name) const;
  DimId add_dim(Dim d);                       // the id of the dim of that name if there is one
  DimId block_dim(DimId d, int64_t blocks);   // `d#blocks`
  std::string show(const Shape&) const;       // "[batch=16, length=256]"
  int64_t elements(const Shape&) const;       // padding included
  int64_t true_elements(const Shape&) const;  // without padding
};

std::string print(const Graph&);

}  // namespace mtf
