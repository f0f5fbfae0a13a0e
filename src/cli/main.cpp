// mtf: one executable, one function a command.
#include <cstdio>
#include <string>

#include "base/error.h"
#include "cli/commands.h"

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

}  // namespace

int main(int argc, char** argv) {
  const mtf::Parsed parsed = mtf::parse_command_line(argc, argv);
  if (!parsed.options)
    return parsed.exit_code;
  try {
    return run(*parsed.options, argc, argv);
  } catch (const mtf::Failure& f) {
    std::fprintf(stderr, "mtf: error: %s\n", f.what());
    return static_cast<int>(f.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "mtf: error: out of memory\n");
    return static_cast<int>(mtf::Exit::environment);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mtf: internal error: %s\nThis is a bug of mtf, not of your spec.\n", e.what());
    return static_cast<int>(mtf::Exit::bug);
  }
}
