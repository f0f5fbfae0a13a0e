// One function a command: reads, calls what computes, prints. Returns the exit code.
#pragma once

#include "base/diagnostics.h"
#include "cli/options.h"

namespace mtf {

int validate_command(const Options&);
int plan_command(const Options&);
int train_command(const Options&);
int eval_command(const Options&);
int infer_command(const Options&);
int show_command(const Options&);
int ops_command(const Options&);
int schema_command(const Options&);
int completion_command(const Options&);
int explain_command(const Options&);
int doctor_command(const Options&);
int init_command(const Options&);
int config_command(const Options&);

// What the scripts of `mtf completion` ask: prints what may stand in place of the last word.
void print_completion(const std::vector<std::string>& line);

// Exit::ok, Exit::spec, or Exit::does_not_fit if broken budgets are the only errors.
int exit_code_of(std::span<const Diagnostic>);
// Prints diagnostics to stderr (of rank 0); their exit code.
int print_diagnostics(const Sources&, const Diagnostics&, const Options&);
bool use_colour(const Options&, int descriptor);

}  // namespace mtf
