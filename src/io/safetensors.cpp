// Reading and writing safetensors.
#include "io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "io/digest.h"
#include "io/json.h"

namespace mtf {
namespace {

using nlohmann::json;

constexpr int64_t largest_header = 100'000'000;

// By DType.
constexpr std::array<std::string_view, 6> stored_names{"F32", "F64", "BF16", "I32", "U8", "BOOL"};

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Failure(Exit::bad_input, path + ": " + what);
}

DType dtype_of(const std::string& name, const std::string& where) {
  for (size_t i = 0; i < stored_names.size(); ++i)
    if (name == stored_names[i])
      return static_cast<DType>(i);
  refuse(where, "has elements of type " + name + "; F32, F64, BF16, I32, U8 and BOOL can be read");
}

StoredTensor read_entry(const std::string& path, const std::string& name, const json& entry,
                        int64_t data_begin) {
  const std::string where = path + ": tensor '" + name + "'";
  StoredTensor t;
  t.name = name;
  t.dtype = dtype_of(text_of(field_of(entry, "dtype", where), where), where);
  t.size = integers_of(field_of(entry, "shape", where), where);
  const auto offsets = integers_of(field_of(entry, "data_offsets", where), where);
  if (entry.size() != 3)
    refuse(where, "expected exactly dtype, shape and data_offsets");
  const auto bytes = checked_bytes(t.size, size_of(t.dtype));
  if (offsets.size() != 2 || offsets[1] < offsets[0] || !bytes || offsets[1] - offsets[0] != *bytes)
    refuse(where, fmt::format("shape {} of {} expects {} bytes, its data_offsets are {}",
                              show(t.size), stored_names[static_cast<size_t>(t.dtype)],
                              bytes ? std::to_string(*bytes) : "too many", show(offsets)));
  t.begin = data_begin + offsets[0];
  t.end = data_begin + offsets[1];
  return t;
}

// Tensors in order of their data must fill the file from the header to its end.
void check_places(const std::string& path, const std::vector<StoredTensor>& tensors,
                  int64_t data_begin, int64_t file_bytes) {
  int64_t end = data_begin;
  for (const StoredTensor& t : tensors) {
    if (t.begin != end)
      refuse(path, fmt::format("tensor '{}' begins at byte {}, expected {} ({})", t.name, t.begin,
                               end, t.begin < end ? "an overlap" : "a gap"));
    end = t.end;
  }
  if (end != file_bytes)
    refuse(path, fmt::format("expected {} bytes, found {}", end, file_bytes));
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::string& path, File::Links links) {
  SafetensorsFile file(File::open(path, links));
  const int64_t file_bytes = file.file_.size();
  if (file_bytes < 8)
    refuse(path,
           fmt::format("expected a safetensors file of at least 8 bytes, found {}", file_bytes));
  uint64_t header_bytes = 0;
  file.file_.read(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
  if (header_bytes > largest_header)
    refuse(path,
           fmt::format("a header of {} bytes; at most {} are read", header_bytes, largest_header));
  const int64_t data_begin = 8 + static_cast<int64_t>(header_bytes);
  if (data_begin > file_bytes)
    refuse(path, fmt::format("expected at least {} bytes for the header, found {}", data_begin,
                             file_bytes));
  std::string head(static_cast<size_t>(data_begin), '\0');
  file.file_.read(0, std::as_writable_bytes(std::span(head)));
  file.header_digest_ = crc64(head);
  const std::string_view text = std::string_view(head).substr(8);
  if (!text.starts_with('{'))
    refuse(path, "not a safetensors file: the header does not begin with '{'");

  const json header = parse_json(text, path);
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      file.tensors_.push_back(read_entry(path, name, entry, data_begin));
      continue;
    }
    if (!entry.is_object())
      refuse(path, "__metadata__ is not a map");
    for (const auto& [key, value] : entry.items())
      file.metadata_[key] = text_of(value, path + ": __metadata__");
  }
  std::sort(file.tensors_.begin(), file.tensors_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_places(path, file.tensors_, data_begin, file_bytes);
  return file;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  for (const StoredTensor& t : tensors_)
    if (t.name == name)
      return &t;
  return nullptr;
}

void SafetensorsFile::read(const StoredTensor& tensor, const Box& box,
                           std::span<std::byte> out) const {
  CHECK(static_cast<int64_t>(out.size()) == elements(box.size) * size_of(tensor.dtype),
        "wrong buffer size");
  const std::vector<int64_t> zero(box.size.size(), 0);
  read(tensor, box.origin, {box.size, zero}, box.size, out.data());
}

void SafetensorsFile::read(const StoredTensor& tensor, std::span<const int64_t> from, Corner to,
                           std::span<const int64_t> extent, std::byte* memory) const {
  CHECK(inside({{from.begin(), from.end()}, {extent.begin(), extent.end()}}, tensor.size),
        "box outside tensor " + tensor.name);
  read_box(file_, tensor.begin, size_of(tensor.dtype), {tensor.size, from}, to, extent, memory);
}

StoredFile write_safetensors(const std::string& path, std::span<const TensorToStore> tensors,
                             const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  int64_t end = 0;
  for (const TensorToStore& t : tensors) {
    CHECK(!header.contains(t.name), "tensor " + t.name + " is stored twice");
    const int64_t begin = end;
    end += elements(t.size) * size_of(t.dtype);
    header[t.name] = {{"dtype", stored_names[static_cast<size_t>(t.dtype)]},
                      {"shape", t.size},
                      {"data_offsets", {begin, end}}};
  }
  std::string text = dump_json(header);
  text.append((8 - text.size() % 8) % 8, ' ');  // so that data begins aligned
  const uint64_t header_bytes = text.size();
  std::string head(reinterpret_cast<const char*>(&header_bytes), 8);
  head += text;

  File file = File::create(path);
  const StoredFile stored{static_cast<int64_t>(head.size()) + end, crc64(head)};
  file.reserve(stored.bytes);
  file.write(head);
  for (const TensorToStore& t : tensors)
    file.write({t.data, static_cast<size_t>(elements(t.size) * size_of(t.dtype))});
  file.finish();
  return stored;
}

}  // namespace mtf
