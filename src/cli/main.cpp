// mtf: one executable, one function a command.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/ranks.h"

namespace {

struct Command {
  std::string_view name;
  int (*run)(const mtf::Options&);
};

constexpr Command commands[] = {
    {"validate", mtf::validate_command}, {"plan", mtf::plan_command},
    {"train", mtf::train_command},       {"eval", mtf::eval_command},
    {"infer", mtf::infer_command},       {"show", mtf::show_command},
    {"explain", mtf::explain_command},   {"ops", mtf::ops_command},
    {"schema", mtf::schema_command},     {"completion", mtf::completion_command},
    {"doctor", mtf::doctor_command},     {"init", mtf::init_command},
    {"config", mtf::config_command},
};

// Says what went wrong before this process joined the others; the exit code.
int refuse(mtf::Exit code, const std::string& text) {
  if (mtf::speaks())
    std::fprintf(stderr, "mtf: %s\n", text.c_str());
  return mtf::leave(static_cast<int>(code));
}

// `mtf __complete WORDS`, which shells call at a TAB: no word of it is for the parser of the
// command line, and whatever goes wrong, the terminal stays as it is.
int complete(int argc, char** argv) {
  try {
    mtf::print_completion({argv + 2, argv + argc});
  } catch (const std::exception&) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "__complete")
    return complete(argc, argv);
  const mtf::Parsed parsed = mtf::parse_command_line(argc, argv);
  if (!parsed.options)
    return mtf::leave(parsed.exit_code);
  try {
    const auto* command =
        std::find_if(std::begin(commands), std::end(commands),
                     [&](const Command& c) { return c.name == parsed.options->command; });
    return command->run(*parsed.options);
  } catch (const mtf::Failure& f) {
    return refuse(f.code(), std::string("error: ") + f.what());
  } catch (const std::bad_alloc&) {
    return refuse(mtf::Exit::environment, "error: out of memory");
  } catch (const std::exception& e) {
    return refuse(mtf::Exit::bug, std::string("internal error: ") + e.what() +
                                      "\nThis is a bug of mtf, not of your spec.");
  }
}
