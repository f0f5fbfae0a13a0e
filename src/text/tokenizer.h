// Text to token ids and back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtf {

struct Tokenizer {
  std::string name;
  int32_t vocabulary = 0;  // ids are in [0, vocabulary)
  std::function<std::vector<int32_t>(std::string_view)> encode;
  // Ids outside the vocabulary become U+FFFD. decode(encode(x)) is x, byte for byte.
  std::function<std::string(std::span<const int32_t>)> decode;
};

// The tokenizer called `name`: "bytes" (id = byte, vocabulary 256). Failure(Exit::spec) for any
// other.
Tokenizer make_tokenizer(std::string_view name);

}  // namespace mtf
