// Diagnostics as a terminal shows them:
//   spec.yaml:14:12: error: axis 'data' already splits 'batch' [layout.axis-reused]
//      14 |   d_model: data
//         |            ^~~~
//   spec.yaml:12:10: note: 'batch' is split over 'data' here
//     help: make this rule soft: `d_model: data?`
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/source.h"

namespace mtf {

// Text that came from a user, safe to print on a terminal: control characters, bidirectional
// overrides and invalid UTF-8 become U+FFFD, tabs and line ends blanks.
std::string printable(std::string_view text);

std::string_view word_of(Severity);                // "error"
std::string place_of(const Sources&, SourceSpan);  // "spec.yaml:14:12"
std::string and_more(size_t omitted);              // "… and 3 more", or nothing

// At most `limit` of them (0: all), in the order of files and lines, those without a place last.
// Errors are taken before warnings.
std::vector<Diagnostic> in_order(std::span<const Diagnostic>, size_t limit);

std::string render_text(const Sources&, const Diagnostic&, bool colour);

// Those that in_order takes, then how many more there are.
std::string render_text(const Sources&, std::span<const Diagnostic>, bool colour,
                        size_t limit = 100);

}  // namespace mtf
