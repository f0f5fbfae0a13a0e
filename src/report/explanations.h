// What each diagnostic means, at length: the pages of docs/diagnostics, embedded in the executable.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"

namespace mtf {

// The page of a code, as Markdown: what is wrong and why it matters, a wrong spec, a right one.
std::optional<std::string_view> explanation(Code);

// Every code with its severity and title, a line each.
std::string codes_as_text();

}  // namespace mtf
