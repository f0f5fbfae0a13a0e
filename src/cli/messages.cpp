// Diagnostics on standard error, and the exit code that they mean.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/ranks.h"
#include "report/diagnostics_text.h"

namespace mtf {

bool use_colour(const Options& o, int descriptor) {
  if (o.color != "auto")
    return o.color == "always";
  const char* term = std::getenv("TERM");
  return isatty(descriptor) && !std::getenv("NO_COLOR") &&
         !(term && std::string_view(term) == "dumb");
}

int exit_code_of(std::span<const Diagnostic> list) {
  Exit worst = Exit::ok;
  for (const Diagnostic& d : list) {
    if (d.severity != Severity::error)
      continue;
    if (d.code != Code::budget_exceeded)
      return static_cast<int>(Exit::spec);
    worst = Exit::does_not_fit;
  }
  return static_cast<int>(worst);
}

int print_diagnostics(const Sources& sources, const Diagnostics& diagnostics, const Options& o) {
  const std::string text = render_text(sources, diagnostics.all(), use_colour(o, STDERR_FILENO));
  if (speaks())
    std::fwrite(text.data(), 1, text.size(), stderr);
  return exit_code_of(diagnostics.all());
}

}  // namespace mtf
