// Safetensors files: an 8-byte length, a JSON header (dtype, shape and place of each tensor), data.
// Reading trusts nothing: header at most 100 MB, no duplicate names, data without gaps or overlaps,
// every size exact. All refusals are Failure(Exit::bad_input).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/box.h"
#include "io/file.h"
#include "mesh/mesh.h"

namespace mtf {

struct StoredTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> size;
  int64_t begin = 0, end = 0;  // bytes of the file
};

class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::string& path, File::Links = File::Links::follow);

  const File& file() const { return file_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // in order of their data
  const StoredTensor* find(std::string_view name) const;
  uint64_t header_digest() const { return header_digest_; }  // crc64 of all bytes before the data

  // The box of the tensor, dense, in row-major order.
  void read(const StoredTensor&, const Box&, std::span<std::byte> out) const;
  // A box of size `extent` at origin `from` of the tensor, into a larger array in memory.
  void read(const StoredTensor&, std::span<const int64_t> from, Corner to,
            std::span<const int64_t> extent, std::byte* memory) const;

 private:
  explicit SafetensorsFile(File file) : file_(std::move(file)) {}
  File file_;
  std::map<std::string, std::string> metadata_;
  std::vector<StoredTensor> tensors_;
  uint64_t header_digest_ = 0;
};

struct TensorToStore {
  std::string name;  // unique in the file
  DType dtype = DType::f32;
  std::vector<int64_t> size;
  const std::byte* data = nullptr;  // dense, row-major
};

struct StoredFile {
  int64_t bytes = 0;
  uint64_t header_digest = 0;
};

// Writes the file, to the disk, tensors in the order given. Failure(Exit::environment) if that
// fails.
StoredFile write_safetensors(const std::string& path, std::span<const TensorToStore>,
                             const std::map<std::string, std::string>& metadata);

}  // namespace mtf
