// What mtf finds in a spec, and what the first comment lines of the spec expect it to find:
//   # expect: error layout.axis-reused 9:3 axis 'all' already splits
//   #   help: drop one rule
// severity, code, line:column and the message or a part of it, then all of its help; `# expect:
// nothing` for a good spec. A place in another file is NAME:line:column, one in a `--set` is
// set:line:column, none is `-`.
//   # set: train.steps=0        an override, as on the command line
//   # command: mtf train        run on the spec instead of the checks of `mtf validate`; no helps
// A text that cannot begin with comments has these lines in a file beside it, SPEC.expect.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"

struct Finding {
  std::string severity, code, place, message, help;
  std::vector<mtf::Edit> edits;

  std::string head() const { return severity + " " + code + " " + place; }
};

struct Expectations {
  std::string file;  // that holds them: the spec, or SPEC.expect
  size_t lines = 0;  // of them, at the beginning of the file
  bool nothing = false;
  std::string command;
  std::vector<std::string> sets;
  std::vector<Finding> findings;
};

Expectations read_expectations(const std::string& spec);

// In the order of places.
std::vector<Finding> find(const std::string& spec);

// Is each expected finding found, in this order, and nothing else?
bool agree(const std::vector<Finding>& expected, const std::vector<Finding>& found);

// Findings as lines of comments.
std::string as_comments(const std::vector<Finding>& findings);

// Replaces the lines that expect findings by what was found. Places below them move with the text.
void rewrite(const Expectations&, std::vector<Finding> found);

std::string read_text_file(const std::string& path);
std::string with_edits(const std::string& text, std::vector<mtf::Edit> edits);
