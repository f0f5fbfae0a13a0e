// Starter specs: what `mtf init` writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtf {

std::vector<std::string> starter_names();

// The spec of a starter (specs/starters/NAME.yaml) under the name that `name` says, with a comment
// on every key of the language and the keys that it leaves out as comments. Nothing if there is no
// such starter.
std::optional<std::string> starter_text(std::string_view starter, std::string_view name);

}  // namespace mtf
