#include "report/explanations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/embedded.h"

namespace mtf {

std::span<const EmbeddedFile> diagnostic_pages();  // by mtf_embed

std::optional<std::string_view> explanation(Code code) {
  for (const EmbeddedFile& page : diagnostic_pages())
    if (page.name == id_of(code))
      return page.text;
  return std::nullopt;
}

std::string codes_as_text() {
  size_t width = 0;
  for (Code code : all_codes())
    width = std::max(width, id_of(code).size());
  std::string out;
  for (Code code : all_codes())
    out += fmt::format("{:{}}  {:7}  {}\n", id_of(code), width,
                       severity_of(code) == Severity::error ? "error" : "warning", title_of(code));
  return out;
}

}  // namespace mtf
