// What belongs to the language and is not in this version: refused by name, so that a spec written
// for a later one is not taken for a misspelt one.
#pragma once

#include <string_view>

#include "base/diagnostics.h"

namespace mtf {

// Is this the name of an op, library file or option of a model that comes later?
bool comes_later(std::string_view name);

Diagnostic not_yet(std::string_view name, SourceSpan where);

}  // namespace mtf
