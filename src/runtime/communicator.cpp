// From mesh axes to groups of ranks.
#include "runtime/communicator.h"

namespace mtf {

Group group_of(const Mesh& mesh, int rank, const AxisList& least_significant_first) {
  // stride[a]: how far apart ranks are that differ by one along axis a (the last varies fastest).
  std::vector<int> stride(mesh.axes.size(), 1);
  for (size_t a = mesh.axes.size(); a-- > 1;)
    stride[a - 1] = stride[a] * mesh.axes[a].size;

  const std::vector<int> coordinate = mesh.coordinates(rank);
  Group group;
  int first = rank, place = 1;
  for (AxisId axis : least_significant_first) {
    const size_t a = static_cast<size_t>(axis.index);
    first -= coordinate[a] * stride[a];
    group.position += coordinate[a] * place;
    place *= mesh.size(axis);
  }
  group.ranks = {first};
  for (AxisId axis : least_significant_first) {
    const size_t inner = group.ranks.size();
    for (int c = 1; c < mesh.size(axis); ++c)
      for (size_t i = 0; i < inner; ++i)
        group.ranks.push_back(group.ranks[i] + c * stride[static_cast<size_t>(axis.index)]);
  }
  return group;
}

}  // namespace mtf
