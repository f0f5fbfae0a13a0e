#include "mesh/mesh.h"

#include <algorithm>

namespace mtf {

std::string Dim::show_size() const {
  const std::string exists = std::to_string(true_size());
  return padding == 0 ? exists : exists + "+" + std::to_string(padding);
}

int Mesh::ranks() const {
  int n = 1;
  for (const Axis& a : axes)
    n *= a.size;
  return n;
}

int Mesh::size(const AxisList& list) const {
  int n = 1;
  for (AxisId a : list)
    n *= size(a);
  return n;
}

AxisId Mesh::find(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return {static_cast<int8_t>(i)};
  return {};
}

std::vector<int> Mesh::coordinates(int rank) const {
  std::vector<int> c(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    c[i] = rank % axes[i].size;
    rank /= axes[i].size;
  }
  return c;
}

int Mesh::position(int rank, const AxisList& major_to_minor) const {
  std::vector<int> c = coordinates(rank);
  int p = 0;
  for (AxisId a : major_to_minor)
    p = p * size(a) + c[static_cast<size_t>(a.index)];
  return p;
}

std::string Mesh::to_string() const {
  std::string out;
  for (const Axis& a : axes)
    out += (out.empty() ? "" : ", ") + a.name + "=" + std::to_string(a.size);
  return out.empty() ? "one rank" : out;
}

std::string Mesh::show(const AxisList& list) const {
  std::string out;
  for (AxisId a : list) {
    const Axis& axis = axes[static_cast<size_t>(a.index)];
    out += (out.empty() ? "" : " * ") + axis.name + "=" + std::to_string(axis.size);
  }
  return out;
}

bool Shape::has(DimId d) const {
  return find(d) >= 0;
}

int Shape::find(DimId d) const {
  auto it = std::find(dims.begin(), dims.end(), d);
  return it == dims.end() ? -1 : static_cast<int>(it - dims.begin());
}

std::string_view name_of(DType t) {
  switch (t) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::u8:
      return "u8";
    case DType::boolean:
      return "bool";
  }
  return "?";
}

bool is_float(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::bf16;
}

}  // namespace mtf
