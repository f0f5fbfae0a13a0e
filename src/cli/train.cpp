#include "cli/commands.h"
namespace mtf { int train_command(const Options&, int, char**) { return 0; } int eval_command(const Options&, int, char**) { return 0; } }
