// Random words as a pure function of what they are for: Philox4x32-10 of Salmon, Moraes, Dror and
// Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
//
// Element i (its row-major index over the declared dims of the whole tensor) takes word i % 4 of
// the block with counter (low 32 bits of i / 4, high 32 bits of i / 4, step, 0). The key, low half
// first, is the 64-bit FNV-1a hash of the eight bytes of the seed, least significant byte first,
// then the bytes of the path. So a number depends on (seed, step, path, i) and on nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mtf {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr PhiloxCounter philox4x32_10(PhiloxCounter c, PhiloxKey k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
  }
  return c;
}

constexpr PhiloxKey random_key(int64_t seed, std::string_view path) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t byte) { hash = (hash ^ (byte & 0xff)) * 0x100000001b3; };
  for (int i = 0; i < 8; ++i)
    mix(static_cast<uint64_t>(seed) >> (8 * i));
  for (char c : path)
    mix(static_cast<unsigned char>(c));
  return {static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)};
}

constexpr PhiloxCounter random_block(PhiloxKey key, int32_t step, uint64_t block) {
  return philox4x32_10({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                        static_cast<uint32_t>(step), 0},
                       key);
}

}  // namespace mtf
