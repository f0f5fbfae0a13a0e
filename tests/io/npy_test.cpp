#include "io/npy.h"

#include <cmath>
#include <numeric>

#include "temp_dir.h"

using namespace mtf;

namespace {

std::string npy_text(const std::string& dict, const std::string& data, int version = 1) {
  std::string text = "\x93NUMPY";
  text += {static_cast<char>(version), '\0', static_cast<char>(dict.size()), '\0'};
  if (version == 2)
    text += std::string(2, '\0');
  return text + dict + data;
}

template <class T>
std::string raw(std::vector<T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::vector<T> read_whole(const NpyFile& file, DType dtype) {
  std::vector<T> out(static_cast<size_t>(elements(file.shape())));
  file.read({std::vector<int64_t>(file.shape().size(), 0), file.shape()}, dtype, bytes_in(out));
  return out;
}

}  // namespace

TEST_CASE("npy: what is written is read, box by box") {
  TempDir dir;
  std::vector<float> values(60);
  std::iota(values.begin(), values.end(), 0.5f);
  write_npy(dir / "a.npy", std::vector<int64_t>{3, 4, 5}, DType::f32, bytes_of(values));
  CHECK(std::filesystem::file_size(dir / "a.npy") == 128 + 240);
  const NpyFile file = NpyFile::open(dir / "a.npy");
  CHECK(file.shape() == std::vector<int64_t>{3, 4, 5});
  CHECK(file.type() == NpyType::f4);
  CHECK(read_whole<float>(file, DType::f32) == values);
  std::vector<float> part(4);
  file.read({{1, 2, 3}, {1, 2, 2}}, DType::f32, bytes_in(part));
  CHECK(part == std::vector<float>{33.5, 34.5, 38.5, 39.5});
}

TEST_CASE("npy: scalars, vectors and every dtype are written") {
  TempDir dir;
  write_npy(dir / "s.npy", {}, DType::f64, bytes_of(std::vector<double>{0.1}));
  CHECK(read_whole<double>(NpyFile::open(dir / "s.npy"), DType::f64) == std::vector<double>{0.1});
  write_npy(dir / "v.npy", std::vector<int64_t>{2}, DType::i32, bytes_of(std::vector<int>{-7, 9}));
  CHECK(read_file(dir / "v.npy").find("'shape': (2, ), ") != std::string::npos);
  CHECK(read_whole<int>(NpyFile::open(dir / "v.npy"), DType::i32) == std::vector<int>{-7, 9});
  write_npy(dir / "b.npy", std::vector<int64_t>{2}, DType::bf16,
            bytes_of(std::vector<uint16_t>{0x3F80, 0xC040}));
  CHECK(read_whole<float>(NpyFile::open(dir / "b.npy"), DType::f32) == std::vector<float>{1, -3});
  write_npy(dir / "t.npy", std::vector<int64_t>{1}, DType::boolean,
            bytes_of(std::vector<uint8_t>{1}));
  CHECK(NpyFile::open(dir / "t.npy").type() == NpyType::b1);
}

TEST_CASE("npy: conversions are exact or refused") {
  TempDir dir;
  write_file(dir / "h.npy",
             npy_text("{'descr': '<f2', 'fortran_order': False, 'shape': (6,), }",
                      raw<uint16_t>({0x3C00, 0xC000, 0x0001, 0x7BFF, 0x7C00, 0x0400})));
  CHECK(read_whole<float>(NpyFile::open(dir / "h.npy"), DType::f32) ==
        std::vector<float>{1, -2, std::ldexp(1.0f, -24), 65504, INFINITY, std::ldexp(1.0f, -14)});
  write_file(dir / "d.npy", npy_text("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
                                     raw<double>({0.1, 1.00390625, 1.01171875}), 2));
  CHECK(read_whole<float>(NpyFile::open(dir / "d.npy"), DType::f32)[0] == 0.1f);
  // 1 + 2^-8 and 1 + 3*2^-8 lie halfway between bf16 numbers: to the even one.
  CHECK(read_whole<uint16_t>(NpyFile::open(dir / "d.npy"), DType::bf16)[1] == 0x3F80);
  CHECK(read_whole<uint16_t>(NpyFile::open(dir / "d.npy"), DType::bf16)[2] == 0x3F82);
  write_file(dir / "l.npy", npy_text("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }",
                                     raw<int64_t>({1, -2, int64_t{1} << 31, 4})));
  const NpyFile large = NpyFile::open(dir / "l.npy");
  const std::string message =
      failure_of(Exit::bad_input, [&] { read_whole<int32_t>(large, DType::i32); });
  CHECK(message == (dir / "l.npy") + ": row 1: 2147483648 does not fit into i32");
  CHECK(converts(NpyType::u1, DType::f32));
  CHECK(!converts(NpyType::i4, DType::f32));
  CHECK(!converts(NpyType::f4, DType::i32));
  CHECK(!converts(NpyType::u1, DType::boolean));
}

TEST_CASE("npy: every other length of a file is refused with both sizes") {
  TempDir dir;
  write_npy(dir / "a.npy", std::vector<int64_t>{2, 2}, DType::i32, bytes_of(std::vector<int>(4)));
  const std::string whole = read_file(dir / "a.npy");
  for (size_t n = 0; n < whole.size(); ++n) {
    write_file(dir / "cut.npy", whole.substr(0, n));
    const std::string message =
        failure_of(Exit::bad_input, [&] { NpyFile::open(dir / "cut.npy"); });
    if (n >= 128)
      CHECK(message.find("[2, 2] of i4 expects 16 bytes of data, found " +
                         std::to_string(n - 128)) != std::string::npos);
  }
  write_file(dir / "long.npy", whole + "x");
  CHECK(failure_of(Exit::bad_input, [&] { NpyFile::open(dir / "long.npy"); }).find("found 17") !=
        std::string::npos);
}

TEST_CASE("npy: headers that are something else are refused") {
  TempDir dir;
  const auto refused = [&](const std::string& dict) {
    write_file(dir / "x.npy", npy_text(dict, std::string(16, '\0')));
    return failure_of(Exit::bad_input, [&] { NpyFile::open(dir / "x.npy"); });
  };
  CHECK(refused("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }").find("Fortran") !=
        std::string::npos);
  CHECK(refused("{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }").find("'>f4'") !=
        std::string::npos);
  refused("{'descr': '<f4', 'fortran_order': False}");
  refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x");
  refused("{'descr': '<f4, 'fortran_order");
  write_file(dir / "x.npy", "PK\3\4 something else entirely");
  failure_of(Exit::bad_input, [&] { NpyFile::open(dir / "x.npy"); });
}
