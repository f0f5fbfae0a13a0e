// Tokenizers by name.
#include "text/tokenizer.h"

#include "base/error.h"

namespace mtf {
namespace {

std::vector<int32_t> encode_bytes(std::string_view text) {
  std::vector<int32_t> ids;
  ids.reserve(text.size());
  for (char c : text)
    ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

std::string decode_bytes(std::span<const int32_t> ids) {
  std::string text;
  for (int32_t id : ids) {
    if (id >= 0 && id < 256)
      text += static_cast<char>(id);
    else
      text += "\xEF\xBF\xBD";
  }
  return text;
}

}  // namespace

Tokenizer make_tokenizer(std::string_view name) {
  if (name == "bytes")
    return {"bytes", 256, encode_bytes, decode_bytes};
  throw Failure(Exit::spec,
                "unknown tokenizer '" + std::string(name) + "'; the one there is: bytes");
}

}  // namespace mtf
