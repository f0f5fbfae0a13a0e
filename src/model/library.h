// The library: families and layers in YAML (specs/library/*.yaml), embedded in the executable.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.h"

namespace mtf {

std::span<const EmbeddedFile> library_files();  // in order of name

std::optional<std::string_view> library_text(std::string_view name);
std::vector<std::string> library_names();

}  // namespace mtf
