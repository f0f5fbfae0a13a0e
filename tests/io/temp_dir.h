// A directory of one test (in memory where there is such a place: saving waits for the disk
// otherwise), and files read and written whole.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"

namespace mtf {

class TempDir {
 public:
  TempDir() {
    const bool shm = std::filesystem::is_directory("/dev/shm");
    const std::filesystem::path parent = shm ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "mtf_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The message of the Failure that f throws; its exit code must be `code`.
template <class F>
std::string failure_of(Exit code, F f) {
  try {
    f();
  } catch (const Failure& e) {
    CHECK(e.code() == code);
    return e.what();
  }
  FAIL("no Failure was thrown");
  return {};
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const std::byte*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

template <class T>
std::span<std::byte> bytes_in(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace mtf
