// Renames and transposes are names, not work: every node stands for a base node, seen under other
// dim names. Readers are counted per base.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace mtf {

struct Alias {
  NodeId base;
  DimPairs renamed;  // dim of the base -> dim of the alias, where they differ

  DimId to_base(DimId seen) const;
  DimId from_base(DimId own) const;
};

class Names {
 public:
  // Considers only nodes that `graph.outputs` need.
  explicit Names(const Graph&);

  const Alias& of(NodeId n) const { return aliases_[static_cast<size_t>(n.index)]; }
  bool needed(NodeId n) const { return needed_[static_cast<size_t>(n.index)]; }
  // Distinct computing nodes that read this base under any name.
  int readers(NodeId base) const { return readers_[static_cast<size_t>(base.index)]; }
  bool is_output(NodeId base) const { return output_[static_cast<size_t>(base.index)]; }
  // Made of constants, indices and scalar inputs alone, element by element: computed wherever it is
  // read, in the layout that the reader needs, at no traffic.
  bool generated(NodeId base) const { return generated_[static_cast<size_t>(base.index)]; }

 private:
  void mark_needed(const Graph&);
  void count_readers(const Graph&);
  bool is_generated(const Node&) const;

  std::vector<Alias> aliases_;
  std::vector<char> needed_, output_, generated_;
  std::vector<int> readers_;
};

// What patterns of `layout.tensors` match: a parameter's path for its gradient and state too; for a
// cache the step that writes it.
std::string_view tensor_path(const Node& node);

// "layers[3]/w1" -> "layers[*]/w1": what copies of a block have in common.
std::string folded(std::string_view path);

}  // namespace mtf
