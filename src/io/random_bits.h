// Randomness that is a function of what it is for: no generator has a state, so no rank, layout or
// restart can change what is drawn.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <string_view>

namespace mtf {

// The finalizer of splitmix64 (Steele, Lea, Flood 2014): a bijection that flips half of all bits.
constexpr uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// 64 random bits for a key of several numbers, in order.
constexpr uint64_t random_bits(std::initializer_list<uint64_t> key) {
  uint64_t bits = 0;
  for (uint64_t k : key)
    bits = mixed(bits ^ mixed(k));
  return bits;
}

constexpr uint64_t key_of(std::string_view name) {
  uint64_t key = name.size();
  for (char c : name)
    key = mixed(key ^ static_cast<unsigned char>(c));
  return key;
}

// In [0, count), from random bits (Lemire 2019, without rejection: the bias is below count / 2^64).
constexpr int64_t below(int64_t count, uint64_t bits) {
  return static_cast<int64_t>(
      (static_cast<unsigned __int128>(bits) * static_cast<uint64_t>(count)) >> 64);
}

// Standard normal, from random bits (Box and Muller 1958; 32 bits for each of its two uniforms).
inline double normal(uint64_t bits) {
  const double u = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;
  const double v = static_cast<double>(bits & 0xFFFFFFFF) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// Where `index` goes in a pseudo-random permutation of [0, count) chosen by `key`: a Feistel
// network of four rounds on the smallest even number of bits that hold count, walked until it lands
// inside.
constexpr int64_t permuted(int64_t index, int64_t count, uint64_t key) {
  int half = 1;
  while ((int64_t{1} << (2 * half)) < count)
    ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  uint64_t x = static_cast<uint64_t>(index);
  do {
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t right = x & mask;
      x = right << half | ((x >> half) ^ (random_bits({key, round, right}) & mask));
    }
  } while (x >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(x);
}

}  // namespace mtf
