// libFuzzer: any bytes as a spec file, read, and what is found rendered.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "report/diagnostics_text.h"
#include "spec/spec.h"

namespace {

// The reader opens files, so the bytes go through one.
const std::string& path() {
  static const std::string name = "fuzzed_" + std::to_string(getpid()) + ".yaml";
  return name;
}

void remove_file() {
  unlink(path().c_str());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  return std::atexit(remove_file);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (std::FILE* file = std::fopen(path().c_str(), "wb")) {
    std::fwrite(data, 1, size, file);
    std::fclose(file);
  }
  mtf::Sources sources;
  mtf::Diagnostics found;
  mtf::read_spec(sources, path(), {}, found);
  mtf::render_text(sources, found.all(), true);
  return 0;
}
