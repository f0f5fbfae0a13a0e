// The mesh (named grid of ranks), dims and types of tensors, and how a value lies on the mesh.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel.h"

namespace mtf {

struct AxisId {
  int8_t index = -1;
  auto operator<=>(const AxisId&) const = default;
};
using AxisList = std::vector<AxisId>;  // ordered

// A named tensor dim. Layout rules look at `rule`: the dim's own name, or that of the dim it is
// `like`, or for a block dim `d#8` (eight blocks of d) the rule of d.
struct Dim {
  std::string name;
  int64_t size = 0;  // of storage, layouts and blocks: padding included
  std::string rule;
  DimId block_of;       // the dim that a block dim cuts; index -1 for an ordinary dim
  int64_t padding = 0;  // the last indices of the size, which exist in storage alone
  int64_t parts = 1;    // how many times the size a step has, one after the other (microbatches)

  int64_t true_size() const { return size - padding; }
  std::string show_size() const;  // "16"; "257+127" where 127 are padding
  std::string show() const { return name + "=" + show_size(); }
};

struct Axis {
  std::string name;
  int size = 1;
};

constexpr int64_t max_ranks = int64_t{1} << 20;  // of a mesh

// Ordered; the last axis varies fastest over ranks. Axes of size 1 are dropped before this is made.
struct Mesh {
  std::vector<Axis> axes;

  int ranks() const;
  int size(AxisId a) const { return axes[static_cast<size_t>(a.index)].size; }
  int size(const AxisList& list) const;      // product
  AxisId find(std::string_view name) const;  // index -1 if there is none
  std::vector<int> coordinates(int rank) const;
  // Position of `rank` along a list of axes, the first being the most significant.
  int position(int rank, const AxisList& major_to_minor) const;
  std::string to_string() const;                 // "data=2, model=2"
  std::string show(const AxisList& list) const;  // "data=2 * model=2"
};

struct Shape {
  std::vector<DimId> dims;
  bool has(DimId d) const;
  int find(DimId d) const;  // position, or -1
};

struct Type {
  Shape shape;
  DType dtype = DType::f32;
};

// How one value lies on the mesh, dim by dim of its type.
struct Layout {
  std::vector<AxisList> split;  // per dim: the axes that split it, major to minor
  AxisList partial;             // axes over which shards are still to be combined, inner first
  bool operator==(const Layout&) const = default;
};

std::string_view name_of(DType);
bool is_float(DType);

}  // namespace mtf
