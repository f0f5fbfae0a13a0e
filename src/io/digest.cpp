// CRC-64 by tables of eight bytes at a time.
#include "io/digest.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace mtf {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

using Tables = std::array<std::array<uint64_t, 256>, 8>;

// Table t, entry b: the digest of byte b followed by t zero bytes.
constexpr Tables make_tables() {
  constexpr uint64_t polynomial = 0xC96C5795D7870F42;
  Tables tables{};
  for (uint64_t b = 0; b < 256; ++b) {
    uint64_t crc = b;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t t = 1; t < 8; ++t)
    for (size_t b = 0; b < 256; ++b)
      tables[t][b] = (tables[t - 1][b] >> 8) ^ tables[0][tables[t - 1][b] & 255];
  return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

uint64_t crc64(std::span<const std::byte> bytes, uint64_t before) {
  uint64_t crc = ~before;
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    word ^= crc;
    crc = 0;
    for (size_t t = 0; t < 8; ++t)
      crc ^= tables[7 - t][(word >> (8 * t)) & 255];
    bytes = bytes.subspan(8);
  }
  for (std::byte b : bytes)
    crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<uint64_t>(b)) & 255];
  return ~crc;
}

uint64_t crc64(std::string_view text) {
  return crc64(std::as_bytes(std::span(text)));
}

std::string in_hex(uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

}  // namespace mtf
