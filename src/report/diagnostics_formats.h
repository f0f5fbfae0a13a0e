// What `mtf validate` found, in the formats that programs read. All text of a user is printable;
// all numbers of lines and columns count from 1, columns in code points.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/source.h"

namespace mtf {

// The result of checking one spec.
struct FileReport {
  std::string name;  // as given, or "<stdin>"
  SourceKind kind = SourceKind::file;
  Sources sources;
  std::vector<Diagnostic> diagnostics;  // in order
  size_t omitted = 0;                   // how many more there are
  size_t errors = 0, warnings = 0;      // of all, a failure included
  std::string failure;                  // why it could not be read, or empty
  int exit_code = 0;                    // 0: valid
};

// One object for all files, in the shape of Terraform's `validate -json`, and more keys.
std::string as_json(std::span<const FileReport>);

// A line with a JSON object for each diagnostic, and one with the verdict.
std::string as_json_lines(const FileReport&);

// Workflow commands of GitHub Actions, which become annotations.
std::string as_github(const FileReport&);

// SARIF 2.1.0, with a rule for each code. Paths are relative to %SRCROOT%, the working directory.
std::string as_sarif(std::span<const FileReport>, std::string_view version, int exit_code);

// JUnit: a suite for each file, in it a failing case for each code with errors, or one that passes.
// The text of a case shows the first hundred.
std::string as_junit(std::span<const FileReport>);

// Where a tool that knows only files shows a diagnostic: its place, else the first of its notes,
// that is in a file; else no place.
SourceSpan place_in_file(const Sources&, const Diagnostic&);

// The message, after its place if place_in_file is another.
std::string placed_message(const Sources&, const Diagnostic&);

// A path from the working directory without `./` and `x/..`, as CI services name files.
std::string plain_path(const std::string& path);

}  // namespace mtf
