// The dims of a Graph: found by name, cut into blocks, shown in messages.
#include "graph/graph.h"

#include <fmt/format.h>

namespace mtf {

DimId Graph::find_dim(std::string_view name) const {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].name == name)
      return {static_cast<int32_t>(i)};
  return {};
}

DimId Graph::add_dim(Dim d) {
  if (DimId found = find_dim(d.name); found.index >= 0)
    return found;
  if (d.rule.empty())
    d.rule = d.name;
  dims.push_back(std::move(d));
  return {static_cast<int32_t>(dims.size()) - 1};
}

DimId Graph::block_dim(DimId d, int64_t blocks) {
  const Dim& whole = (*this)[d];
  return add_dim({fmt::format("{}#{}", whole.name, blocks), blocks, whole.rule, d});
}

std::string Graph::show(const Shape& shape) const {
  std::string out;
  for (DimId d : shape.dims)
    out += (out.empty() ? "" : ", ") + (*this)[d].show();
  return "[" + out + "]";
}

int64_t Graph::elements(const Shape& shape) const {
  int64_t n = 1;
  for (DimId d : shape.dims)
    n *= (*this)[d].size;
  return n;
}

int64_t Graph::true_elements(const Shape& shape) const {
  int64_t n = 1;
  for (DimId d : shape.dims)
    n *= (*this)[d].true_size();
  return n;
}

}  // namespace mtf
