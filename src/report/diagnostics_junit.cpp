// JUnit's XML, as Jenkins and GitLab read it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/diagnostics_formats.h"
#include "report/diagnostics_text.h"

namespace mtf {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

struct Case {
  std::string inside;  // of its element; empty: it passes
  std::string name;
};

// Cases in the order of the first error of each code, so that a case keeps its name from run to
// run.
std::vector<Case> cases(const FileReport& report) {
  if (!report.failure.empty())
    return {{fmt::format("    <error message=\"{}\"/>\n", escaped(printable(report.failure))),
             "mtf validate"}};
  std::vector<std::vector<Diagnostic>> groups;  // by code
  for (const Diagnostic& d : report.diagnostics) {
    if (d.severity != Severity::error)
      continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.front().code == d.code; });
    if (group == groups.end())
      group = groups.insert(group, std::vector<Diagnostic>());
    group->push_back(d);
  }
  std::vector<Case> out;
  for (const std::vector<Diagnostic>& group : groups) {
    const std::string name(id_of(group.front().code));
    out.push_back({fmt::format("    <failure type=\"{}\" message=\"{}\">{}</failure>\n", name,
                               escaped(printable(group.front().message)),
                               escaped(render_text(report.sources, group, false))),
                   name});
  }
  if (out.empty())
    out.push_back({"", "mtf validate"});
  return out;
}

// What is no failure: warnings, and how many more diagnostics there are.
std::string remarks(const FileReport& report) {
  std::vector<Diagnostic> list;
  std::copy_if(report.diagnostics.begin(), report.diagnostics.end(), std::back_inserter(list),
               [](const Diagnostic& d) { return d.severity != Severity::error; });
  const std::string text = render_text(report.sources, list, false) + and_more(report.omitted);
  return text.empty() ? "" : fmt::format("  <system-out>{}</system-out>\n", escaped(text));
}

std::string counts(size_t tests, size_t failures, size_t errors) {
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"0\"", tests, failures,
                     errors);
}

}  // namespace

std::string as_junit(std::span<const FileReport> reports) {
  size_t all_tests = 0, all_failures = 0, all_errors = 0;
  std::string suites;
  for (const FileReport& r : reports) {
    const std::string name = escaped(printable(r.name));
    const std::vector<Case> list = cases(r);
    const size_t errors = r.failure.empty() ? 0 : 1;
    const size_t failures = errors == 0 && !list.front().inside.empty() ? list.size() : 0;
    suites += fmt::format(" <testsuite name=\"{}\" {} skipped=\"0\">\n", name,
                          counts(list.size(), failures, errors));
    for (const Case& c : list)
      suites += fmt::format("  <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"0\"{}",
                            name, c.name, name,
                            c.inside.empty() ? "/>\n" : ">\n" + c.inside + "  </testcase>\n");
    suites += remarks(r) + " </testsuite>\n";
    all_tests += list.size();
    all_failures += failures;
    all_errors += errors;
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"mtf\" {}>\n{}",
                     counts(all_tests, all_failures, all_errors), suites) +
         "</testsuites>\n";
}

}  // namespace mtf
