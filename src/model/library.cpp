#include "model/library.h"

namespace mtf {

std::optional<std::string_view> library_text(std::string_view name) {
  for (const EmbeddedFile& file : library_files())
    if (file.name == name)
      return file.text;
  return std::nullopt;
}

std::vector<std::string> library_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : library_files())
    names.emplace_back(file.name);
  return names;
}

}  // namespace mtf
