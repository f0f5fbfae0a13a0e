// NumPy's .npy files (versions 1 and 2, little endian, C order): any box of an array, converted to
// a dtype of ours, and whole arrays written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/box.h"
#include "io/file.h"
#include "mesh/mesh.h"

namespace mtf {

enum class NpyType : uint8_t { f2, f4, f8, i4, i8, u1, b1 };
std::string_view name_of(NpyType);
int64_t size_of(NpyType);

// Floats go to floats (rounded to nearest even), integers to integers (checked, value by value), u1
// to floats too, booleans to boolean and integers.
bool converts(NpyType, DType);

class NpyFile {
 public:
  // Refuses (Exit::bad_input) what it cannot read and a file that is longer or shorter than its
  // header says.
  static NpyFile open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  NpyType type() const { return type_; }
  const std::vector<int64_t>& shape() const { return shape_; }

  // The box as `dtype`, dense, in row-major order. An integer out of the dtype's range is refused.
  void read(const Box&, DType dtype, std::span<std::byte> out) const;

 private:
  explicit NpyFile(File file) : file_(std::move(file)) {}
  File file_;
  NpyType type_ = NpyType::f4;
  std::vector<int64_t> shape_;
  int64_t data_begin_ = 0;
};

// Writes a whole array, replacing the file at once. NumPy has no bf16: it is written as f4.
void write_npy(const std::string& path, std::span<const int64_t> shape, DType,
               std::span<const std::byte> data);

}  // namespace mtf
