// Diagnostics as a terminal shows them:
//   spec.yaml:14:12: error: axis 'data' already splits 'batch' [layout.axis-reused]
//      14 |   d_model: data
//         |            ^~~~
//   spec.yaml:12:10: note: 'batch' is split over 'data' here
//     help: make this rule soft: `d_model: data?`
#pragma once

#include <span>
#include <string>

#include "base/diagnostics.h"
#include "base/source.h"

namespace mtf {

// Text that came from a user, safe to print on a terminal: control characters, bidirectional
// overrides and invalid UTF-8 become U+FFFD, tabs and line ends blanks.
std::string printable(std::string_view text);

std::string render_text(const Sources&, const Diagnostic&, bool colour);

// All of them, in the order of files and lines (those without a place last); after the first
// hundred only how many more there are.
std::string render_text(const Sources&, std::span<const Diagnostic>, bool colour);

}  // namespace mtf
