// mtf init: a commented starter spec. mtf config: a spec as it is read, with origins.
#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "report/diagnostics_text.h"
#include "report/resolved_spec.h"
#include "report/starter.h"

namespace mtf {
namespace {

// A file's name as the name of a spec, which becomes part of a path.
std::string spec_name(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
      c = '-';
  return name.empty() || name[0] == '-' ? "spec" + name : name;
}

// Never overwrites a file.
void write_new(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");
  if (!file)
    throw Failure(errno == EEXIST ? Exit::command_line : Exit::environment,
                  fmt::format("cannot write '{}': {}", printable(path), std::strerror(errno)));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written)
    throw Failure(Exit::environment,
                  fmt::format("cannot write '{}': {}", printable(path), std::strerror(errno)));
}

}  // namespace

int init_command(const Options& o) {
  const std::vector<std::string> names = starter_names();
  if (o.specs.empty()) {
    for (const std::string& name : names)
      fmt::print("{}\n", name);
    return 0;
  }
  const std::string& starter = o.specs[0];
  const std::string path = o.specs.size() > 1 ? o.specs[1] : starter + ".yaml";
  const std::optional<std::string> text =
      starter_text(starter, path == "-" ? starter : spec_name(path));
  if (!text)
    throw Failure(Exit::command_line, fmt::format("there is no starter '{}'; {}",
                                                  printable(starter), there_are(names)));
  if (path == "-") {
    std::fwrite(text->data(), 1, text->size(), stdout);
    return 0;
  }
  write_new(path, *text);
  fmt::print("wrote {}\nnext: mtf validate {}; mtf plan {}; mtf train {} --local\n", path, path,
             path, path);
  return 0;
}

int config_command(const Options& o) {
  Sources sources;
  Diagnostics diagnostics;
  const Spec spec = read_spec(sources, o.specs[0], o.overrides, diagnostics);
  const int code = print_diagnostics(sources, diagnostics, o);
  if (!spec.document.is_null()) {
    const std::string text = resolved_text(spec, sources);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return code;
}

}  // namespace mtf
