#include "io/safetensors.h"

#include <cstring>
#include <numeric>

#include "temp_dir.h"

using namespace mtf;

namespace {

std::string file_text(const std::string& header, const std::string& data) {
  const uint64_t n = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &n, 8);
  return text + header + data;
}

}  // namespace

TEST_CASE("safetensors: what is written is read, box by box") {
  TempDir dir;
  std::vector<float> w(24);
  std::iota(w.begin(), w.end(), 1.0f);
  const std::vector<uint8_t> ids{3, 1, 4};
  const double scalar = 2.5;
  const std::vector<TensorToStore> tensors{
      {"ids", DType::u8, {3}, reinterpret_cast<const std::byte*>(ids.data())},
      {"w", DType::f32, {4, 6}, reinterpret_cast<const std::byte*>(w.data())},
      {"none", DType::bf16, {0, 2}, nullptr},
      {"s", DType::f64, {}, reinterpret_cast<const std::byte*>(&scalar)}};
  const StoredFile stored = write_safetensors(dir / "a", tensors, {{"k", "v \"quoted\""}});
  const SafetensorsFile file = SafetensorsFile::open(dir / "a");
  CHECK(stored.bytes == static_cast<int64_t>(std::filesystem::file_size(dir / "a")));
  CHECK(stored.header_digest == file.header_digest());
  CHECK(file.metadata().at("k") == "v \"quoted\"");
  REQUIRE(file.tensors().size() == 4);
  CHECK(file.tensors()[0].begin % 8 == 0);
  CHECK(file.find("absent") == nullptr);

  std::vector<float> part(6);
  file.read(*file.find("w"), {{1, 3}, {3, 2}}, bytes_in(part));
  CHECK(part == std::vector<float>{10, 11, 16, 17, 22, 23});
  std::vector<double> one(1);
  file.read(*file.find("s"), {{}, {}}, bytes_in(one));
  CHECK(one[0] == 2.5);
}

TEST_CASE("safetensors: every other length of a file is refused") {
  TempDir dir;
  const std::vector<int32_t> values{1, 2, 3};
  const TensorToStore t{"t", DType::i32, {3}, reinterpret_cast<const std::byte*>(values.data())};
  write_safetensors(dir / "a", {&t, 1}, {});
  const std::string whole = read_file(dir / "a");
  for (size_t n = 0; n < whole.size(); ++n) {
    write_file(dir / "cut", whole.substr(0, n));
    const std::string message =
        failure_of(Exit::bad_input, [&] { SafetensorsFile::open(dir / "cut"); });
    CHECK(message.find("found " + std::to_string(n)) != std::string::npos);
    CHECK(message.find("expected") != std::string::npos);
  }
  write_file(dir / "long", whole + std::string(16, '\0'));
  failure_of(Exit::bad_input, [&] { SafetensorsFile::open(dir / "long"); });
}

TEST_CASE("safetensors: headers that do not hold together are refused") {
  TempDir dir;
  const auto refused = [&](const std::string& header, size_t data_bytes) {
    write_file(dir / "x", file_text(header, std::string(data_bytes, '\0')));
    return failure_of(Exit::bad_input, [&] { SafetensorsFile::open(dir / "x"); });
  };
  const auto entry = [](const std::string& name, int begin, int end) {
    return "\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(end - begin) +
           "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  CHECK(refused("{" + entry("a", 0, 4) + "," + entry("a", 0, 4) + "}", 4).find("stands twice") !=
        std::string::npos);
  CHECK(refused("{" + entry("a", 0, 4) + "," + entry("b", 3, 6) + "}", 6).find("an overlap") !=
        std::string::npos);
  CHECK(refused("{" + entry("a", 0, 4) + "," + entry("b", 5, 6) + "}", 6).find("a gap") !=
        std::string::npos);
  CHECK(refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4)
            .find("expects 8 bytes") != std::string::npos);
  CHECK(
      refused("{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4).find("F16") !=
      std::string::npos);
  refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}",
          4);
  refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4);
  refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4);
  refused("{\"a\":[1]}", 4);
  refused("[]", 0);
  refused("{", 0);
  refused("{\"a\":" + std::string(100000, '[') + "}", 0);
  refused("{\"__metadata__\":{\"a\":1}}", 0);
  write_file(dir / "x", std::string(8, '\xff') + "{}");
  failure_of(Exit::bad_input, [&] { SafetensorsFile::open(dir / "x"); });
}
