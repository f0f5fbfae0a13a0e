// mtf validate: every check that needs no hardware, for files and for folders of files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/ranks.h"
#include "plan/make_plan.h"
#include "report/diagnostics_formats.h"
#include "report/diagnostics_text.h"

namespace mtf {
namespace {

namespace fs = std::filesystem;

FileReport failed(const std::string& name, const Failure& f) {
  FileReport r;
  r.name = name;
  r.failure = f.what();
  r.errors = 1;
  r.exit_code = static_cast<int>(f.code());
  return r;
}

// Files of a library are parts of specs. Hidden files and folders belong to other tools.
bool is_skipped(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  return name.starts_with('.') || (name == "library" && entry.is_directory());
}

// The specs below a folder, in order. Throws Failure if it cannot be read or has none.
std::vector<std::string> specs_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::end(at); at.increment(error)) {
    const std::string ending = at->path().extension().string();
    if (is_skipped(*at))
      at.disable_recursion_pending();
    else if ((ending == ".yaml" || ending == ".yml") && at->is_regular_file())
      found.push_back(at->path().lexically_normal().string());
  }
  if (error)
    throw Failure(Exit::environment,
                  fmt::format("cannot read the folder '{}': {}", folder, error.message()));
  if (found.empty())
    throw Failure(Exit::bad_input,
                  fmt::format("there is no spec in the folder '{}': no .yaml or .yml file, apart "
                              "from hidden ones and folders named library",
                              folder));
  std::sort(found.begin(), found.end());
  return found;
}

FileReport check(const std::string& path, const Options& o, size_t limit) {
  FileReport r;
  r.name = path == "-" ? "<stdin>" : path;
  r.kind = path == "-" ? SourceKind::other : SourceKind::file;
  Diagnostics found;
  try {
    const Spec spec = read_spec(r.sources, path, o.overrides, found);
    check_plan(spec, r.sources, natural_job(spec), found);
    check_inference(spec, r.sources, found);
  } catch (const Failure& f) {
    return failed(r.name, f);
  }
  r.diagnostics.assign(found.all().begin(), found.all().end());
  for (Diagnostic& d : r.diagnostics) {
    if (o.deny_warnings && d.severity == Severity::warning)
      d.severity = Severity::error;
    r.errors += d.severity == Severity::error;
    r.warnings += d.severity == Severity::warning;
  }
  r.exit_code = exit_code_of(r.diagnostics);
  r.diagnostics = in_order(r.diagnostics, limit);
  r.omitted = static_cast<size_t>(found.all().size()) - r.diagnostics.size();
  return r;
}

// What could not be checked is worse than what is known to be wrong.
int worse(int a, int b) {
  constexpr std::array order = {Exit::ok, Exit::does_not_fit, Exit::spec, Exit::bad_input,
                                Exit::environment};
  auto rank = [&](int code) {
    return std::find(order.begin(), order.end(), static_cast<Exit>(code));
  };
  return rank(a) < rank(b) ? b : a;
}

void print(std::string_view text, FILE* to) {
  if (speaks() && std::fwrite(text.data(), 1, text.size(), to) != text.size())
    throw Failure(Exit::environment, "cannot write the results");
}

void print_text(const FileReport& r, const Options& o) {
  std::string text;
  if (!r.failure.empty())
    text = fmt::format("mtf: error: {}\n", printable(r.failure));
  text += render_text(r.sources, r.diagnostics, use_colour(o, STDERR_FILENO), 0);
  if (r.omitted > 0)
    text += and_more(r.omitted) + "\n";
  print(text, stderr);
  const char* verdict = !r.failure.empty() ? "not read" : r.exit_code == 0 ? "valid" : "not valid";
  print(fmt::format("{}: {}\n", printable(r.name), verdict), stdout);
}

// Prints each result as it comes, in the formats that can; the others need all of them.
class Printer {
 public:
  explicit Printer(const Options& o) : o_(o) {}

  void add(FileReport r) {
    worst_ = worse(worst_, r.exit_code);
    if (o_.format == "text")
      print_text(r, o_);
    else if (o_.format == "jsonl")
      print(as_json_lines(r), stdout);
    else if (o_.format == "github")
      print(as_github(r), stdout);
    else
      reports_.push_back(std::move(r));
  }

  int finish() const {
    if (o_.format == "json")
      print(as_json(reports_), stdout);
    else if (o_.format == "sarif")
      print(as_sarif(reports_, MTF_VERSION, worst_), stdout);
    else if (o_.format == "junit")
      print(as_junit(reports_), stdout);
    if (std::fflush(stdout) != 0)
      throw Failure(Exit::environment, "cannot write the results");
    return worst_;
  }

 private:
  const Options& o_;
  std::vector<FileReport> reports_;
  int worst_ = 0;
};

}  // namespace

int validate_command(const Options& o) {
  const size_t limit = o.max_errors.value_or(o.format == "text" ? 100 : 0);
  Printer printer(o);
  std::set<std::string> seen;
  for (const std::string& given : o.specs) {
    std::vector<std::string> files = {given};
    std::error_code ignored;
    try {
      if (fs::is_directory(given, ignored))
        files = specs_below(given);
    } catch (const Failure& f) {
      printer.add(failed(given, f));
      continue;
    }
    for (const std::string& path : files)
      if (seen.insert(plain_path(path)).second)
        printer.add(check(path, o, limit));
  }
  return printer.finish();
}

}  // namespace mtf
