// Reading and writing .npy; the format is described in NumPy's numpy.lib.format.
#include "io/npy.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "io/convert.h"
#include "io/npy_header.h"

namespace mtf {
namespace {

struct TypeRow {
  NpyType type;
  std::string_view name;  // as numpy prints it
  std::string_view descr;
  int64_t bytes;
};
constexpr std::array<TypeRow, 7> types{{
    {NpyType::f2, "f2", "<f2", 2},
    {NpyType::f4, "f4", "<f4", 4},
    {NpyType::f8, "f8", "<f8", 8},
    {NpyType::i4, "i4", "<i4", 4},
    {NpyType::i8, "i8", "<i8", 8},
    {NpyType::u1, "u1", "|u1", 1},
    {NpyType::b1, "b1", "|b1", 1},
}};

constexpr std::string_view magic("\x93NUMPY", 6);

// The bytes of a stored type that are ours already, so that nothing is converted.
bool same_bytes(NpyType from, DType to) {
  return (from == NpyType::f4 && to == DType::f32) || (from == NpyType::f8 && to == DType::f64) ||
         (from == NpyType::i4 && to == DType::i32) || (from == NpyType::u1 && to == DType::u8);
}

}  // namespace

std::string_view name_of(NpyType t) {
  return types[static_cast<size_t>(t)].name;
}
int64_t size_of(NpyType t) {
  return types[static_cast<size_t>(t)].bytes;
}

bool converts(NpyType from, DType to) {
  if (is_float(from))
    return is_float(to);
  if (is_float(to))
    return from == NpyType::u1;
  return to != DType::boolean || from == NpyType::b1;
}

NpyFile NpyFile::open(const std::string& path) {
  NpyFile npy(File::open(path));
  const auto refuse = [&](const std::string& what) {
    throw Failure(Exit::bad_input, path + ": " + what);
  };
  const int64_t file_bytes = npy.file_.size();
  std::array<unsigned char, 12> start{};
  if (file_bytes < 12)
    refuse(fmt::format("expected a .npy file of at least 12 bytes, found {}", file_bytes));
  npy.file_.read(0, std::as_writable_bytes(std::span(start)));
  if (std::memcmp(start.data(), magic.data(), magic.size()) != 0)
    refuse("not a .npy file: it does not begin with \\x93NUMPY");
  const int version = start[6];
  if ((version != 1 && version != 2) || start[7] != 0)
    refuse(fmt::format("expected .npy version 1.0 or 2.0, found {}.{}", version, start[7]));

  int64_t header_bytes = start[8] | start[9] << 8;
  if (version == 2)
    header_bytes |= int64_t{start[10]} << 16 | int64_t{start[11]} << 24;
  const int64_t header_begin = version == 1 ? 10 : 12;
  npy.data_begin_ = header_begin + header_bytes;
  if (header_bytes > 1 << 20 || npy.data_begin_ > file_bytes)
    refuse(fmt::format("expected a header of {} bytes, found {}", header_bytes,
                       file_bytes - header_begin));
  std::string text(static_cast<size_t>(header_bytes), '\0');
  npy.file_.read(header_begin, std::as_writable_bytes(std::span(text)));
  NpyHeader header = parse_npy_header(text, path);

  if (header.fortran_order)
    refuse("the array is in Fortran order; save it again with numpy.ascontiguousarray");
  const TypeRow* row = nullptr;
  for (const TypeRow& t : types)
    if (t.descr == header.descr || (t.bytes == 1 && header.descr.ends_with(t.name)))
      row = &t;
  if (row == nullptr)
    refuse(fmt::format("elements are '{}'; <f2, <f4, <f8, <i4, <i8, |u1 and |b1 can be read",
                       header.descr));
  npy.type_ = row->type;
  npy.shape_ = std::move(header.shape);
  const auto data_bytes = checked_bytes(npy.shape_, row->bytes);
  if (!data_bytes)
    refuse("the shape " + show(npy.shape_) + " is too large");
  if (file_bytes - npy.data_begin_ != *data_bytes)
    refuse(fmt::format("{} of {} expects {} bytes of data, found {}", show(npy.shape_), row->name,
                       *data_bytes, file_bytes - npy.data_begin_));
  return npy;
}

void NpyFile::read(const Box& box, DType dtype, std::span<std::byte> out) const {
  CHECK(inside(box, shape_), "box outside the array");
  const int64_t count = elements(box.size);
  CHECK(static_cast<int64_t>(out.size()) == count * mtf::size_of(dtype), "wrong buffer size");
  CHECK(converts(type_, dtype), "no such conversion");
  const std::vector<int64_t> zero(shape_.size(), 0);
  const auto read_raw = [&](std::byte* memory) {
    read_box(file_, data_begin_, size_of(type_), {shape_, box.origin}, {box.size, zero}, box.size,
             memory);
  };
  if (same_bytes(type_, dtype))
    return read_raw(out.data());

  std::vector<std::byte> raw(static_cast<size_t>(count * size_of(type_)));
  read_raw(raw.data());
  for (int64_t i = 0; i < count; ++i) {
    if (is_float(dtype)) {
      store_float(dtype, out.data(), i, float_at(type_, raw.data(), i));
    } else if (const int64_t value = integer_at(type_, raw.data(), i);
               !store_integer(dtype, out.data(), i, value)) {
      const int64_t row = shape_.empty() ? 0 : box.origin[0] + i / (count / box.size[0]);
      throw Failure(Exit::bad_input, fmt::format("{}: row {}: {} does not fit into {}", path(), row,
                                                 value, name_of(dtype)));
    }
  }
}

void write_npy(const std::string& path, std::span<const int64_t> shape, DType dtype,
               std::span<const std::byte> data) {
  static constexpr std::array<std::string_view, 6> descr{"<f4", "<f8", "<f4", "<i4", "|u1", "|b1"};
  const int64_t count = elements(shape);
  CHECK(static_cast<int64_t>(data.size()) == count * mtf::size_of(dtype), "wrong data size");
  std::string tuple;
  for (int64_t s : shape)
    tuple += fmt::format("{}, ", s);
  if (shape.size() > 1)
    tuple.resize(tuple.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr[static_cast<size_t>(dtype)], tuple);
  const size_t unpadded = 10 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';

  std::string text(magic);
  text += {'\x01', '\x00', static_cast<char>(header.size() & 255),
           static_cast<char>(header.size() >> 8)};
  text += header;
  const size_t begin = text.size();
  if (dtype == DType::bf16) {
    text.resize(begin + static_cast<size_t>(count) * 4);
    auto* out = reinterpret_cast<std::byte*>(text.data() + begin);
    for (int64_t i = 0; i < count; ++i)
      store_float(DType::f32, out, i, float_at(dtype, data.data(), i));
  } else {
    text.append(reinterpret_cast<const char*>(data.data()), data.size());
  }
  write_atomically(path, text);
}

}  // namespace mtf
