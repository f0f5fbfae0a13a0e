// mtf: one executable, one function a command.
#include <cstdio>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/ranks.h"

namespace {

int run(const mtf::Options& o, int argc, char** argv) {
  if (o.command == "validate")
    return mtf::validate_command(o);
  if (o.command == "plan")
    return mtf::plan_command(o);
  if (o.command == "train")
    return mtf::train_command(o, argc, argv);
  if (o.command == "eval")
    return mtf::eval_command(o, argc, argv);
  if (o.command == "infer")
    return mtf::infer_command(o, argc, argv);
  if (o.command == "show")
    return mtf::show_command(o);
  return mtf::ops_command(o);
}

// Says what went wrong before this process joined the others; the exit code.
int refuse(mtf::Exit code, const std::string& text) {
  if (mtf::speaks())
    std::fprintf(stderr, "mtf: %s\n", text.c_str());
  return mtf::leave(static_cast<int>(code));
}

}  // namespace

int main(int argc, char** argv) {
  const mtf::Parsed parsed = mtf::parse_command_line(argc, argv);
  if (!parsed.options)
    return mtf::leave(parsed.exit_code);
  try {
    return run(*parsed.options, argc, argv);
  } catch (const mtf::Failure& f) {
    return refuse(f.code(), std::string("error: ") + f.what());
  } catch (const std::bad_alloc&) {
    return refuse(mtf::Exit::environment, "error: out of memory");
  } catch (const std::exception& e) {
    return refuse(mtf::Exit::bug, std::string("internal error: ") + e.what() +
                                      "\nThis is a bug of mtf, not of your spec.");
  }
}
