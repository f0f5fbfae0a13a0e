// The command line as a struct. options.cpp is the only user of CLI11.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/completion.h"
#include "spec/spec.h"

namespace mtf {

struct Options {
  std::vector<std::string> arguments;  // of the process, as given
  std::string command;                 // validate, plan, ...
  std::vector<std::string> specs;      // files; for `show`, names
  std::vector<Override> overrides;
  std::string format = "text";
  std::string color = "auto";  // auto, always, never
  bool deny_warnings = false;
  std::optional<size_t> max_errors;  // validate: diagnostics shown for each file; 0: all
  bool list_program = false;         // plan --program
  bool markdown = false;             // ops --markdown
  bool resume = false, local = false;
  int threads = 0;         // 0: cores divided by the ranks on this node
  int ranks = 0;           // --local: how many; 0: what the mesh has
  std::string checkpoint;  // infer, eval: a run directory or one step_N
  std::optional<std::string> prompt;
  std::optional<int64_t> max_tokens;
};

struct Parsed {
  std::optional<Options> options;  // nullopt: stop now with this exit code
  int exit_code = 0;
};

// What there is to type, for completion.
std::vector<CommandWords> command_words();

// Prints help, version and mistakes of the command line itself.
Parsed parse_command_line(int argc, char** argv);

}  // namespace mtf
