#include "base/source.h"

namespace mtf {

int Sources::add(std::string name, std::string text, SourceKind kind) {
  files_.push_back({std::move(name), std::move(text), kind});
  return size() - 1;
}

std::string_view Sources::line(SourceSpan span) const {
  if (span.file < 0)
    return {};
  std::string_view text = (*this)[span.file].text;
  for (int line = 1; line < span.line; ++line) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r'))
    text.remove_suffix(1);
  return text;
}

}  // namespace mtf
