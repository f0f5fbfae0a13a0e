// mtf validate: every check that needs no hardware, for files and for folders of files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/ranks.h"
#include "plan/make_plan.h"
#include "report/diagnostics_text.h"

namespace mtf {
namespace {

std::vector<std::string> spec_files(const std::vector<std::string>& given) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const std::string& path : given) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      out.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(path, ignored))
      if (entry.path().extension() == ".yaml" && entry.path().parent_path().filename() != "library")
        found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

}  // namespace

bool use_colour(const Options& o, int descriptor) {
  if (o.color != "auto")
    return o.color == "always";
  const char* term = std::getenv("TERM");
  return isatty(descriptor) && !std::getenv("NO_COLOR") &&
         !(term && std::string_view(term) == "dumb");
}

int print_diagnostics(const Sources& sources, const Diagnostics& diagnostics, const Options& o) {
  const std::string text = render_text(sources, diagnostics.all(), use_colour(o, STDERR_FILENO));
  if (speaks())
    std::fwrite(text.data(), 1, text.size(), stderr);
  if (!diagnostics.has_errors())
    return static_cast<int>(Exit::ok);
  const bool only_budget =
      std::all_of(diagnostics.all().begin(), diagnostics.all().end(), [](const Diagnostic& d) {
        return d.severity != Severity::error || d.code == Code::budget_exceeded;
      });
  return static_cast<int>(only_budget ? Exit::does_not_fit : Exit::spec);
}

int validate_command(const Options& o) {
  int worst = 0;
  const std::vector<std::string> files = spec_files(o.specs);
  for (const std::string& path : files) {
    Sources sources;
    Diagnostics diagnostics;
    const Spec spec = read_spec(sources, path, o.overrides, diagnostics);
    if (make_plan(spec, sources, natural_job(spec), diagnostics))
      check_inference(spec, sources, diagnostics);
    int code = print_diagnostics(sources, diagnostics, o);
    if (code == 0 && o.deny_warnings && !diagnostics.all().empty())
      code = static_cast<int>(Exit::spec);
    fmt::print("{}: {}\n", printable(path), code == 0 ? "valid" : "not valid");
    worst = worst == 0 || code == static_cast<int>(Exit::spec) ? (code ? code : worst) : worst;
  }
  return worst;
}

}  // namespace mtf
