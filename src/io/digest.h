// CRC-64 (the polynomial of ECMA-182, reflected, as in xz): finds every flipped bit and every burst
// of up to 64 bits in what was stored. Against rot, not against attackers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mtf {

// The digest of `bytes`, or, given the digest of what came before them, of both.
uint64_t crc64(std::span<const std::byte> bytes, uint64_t before = 0);
uint64_t crc64(std::string_view text);

std::string in_hex(uint64_t digest);  // 16 digits

}  // namespace mtf
