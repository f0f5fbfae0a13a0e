#include "base/check.h"

#include <unistd.h>

#include <cstdio>

namespace mtf {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr,
               "mtf: internal error at %s:%d: %s%s%s\nThis is a bug of mtf, not of your spec.\n",
               file, line, condition, message.empty() ? "" : ": ", message.c_str());
  std::fflush(stderr);
  _exit(70);
}

}  // namespace mtf
