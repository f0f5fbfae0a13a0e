// Files that the executable carries; CMake's mtf_embed writes the function that lists them.
#pragma once

#include <span>
#include <string_view>

namespace mtf {

struct EmbeddedFile {
  std::string_view name;  // without its folder and ending
  std::string_view text;
};

}  // namespace mtf
