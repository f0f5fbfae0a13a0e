// UTF-8, one code point at a time: for reading specs and for showing their lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mtf {

struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;  // 0: the text does not start with valid UTF-8
};

inline bool is_continuation_byte(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The first code point of a text that is not empty. Overlong forms, surrogates and values above
// U+10FFFF are invalid (RFC 3629).
inline CodePoint decode_utf8(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80)
    return {byte(0), 1};
  size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes)
    return {};
  char32_t value = byte(0) & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if (!is_continuation_byte(text[i]))
      return {};
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[bytes] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
    return {};
  return {value, bytes};
}

}  // namespace mtf
