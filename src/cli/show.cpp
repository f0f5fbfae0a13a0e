// mtf show, mtf explain, mtf ops, mtf schema, mtf completion: what the executable brings with it.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "model/library.h"
#include "report/explanations.h"
#include "report/op_table.h"
#include "report/schema.h"
#include "report/starter.h"

namespace mtf {

int show_command(const Options& o) {
  const std::vector<std::string> names = library_names();
  if (o.specs.empty()) {
    for (const std::string& name : names)
      fmt::print("{}\n", name);
    return 0;
  }
  for (const std::string& name : o.specs) {
    const std::optional<std::string_view> text = library_text(name);
    if (!text) {
      const Help help = suggest(name, {}, names, "it has " + listed(names));
      throw Failure(Exit::command_line,
                    fmt::format("the library has no '{}'; {}", name, help.text));
    }
    std::fwrite(text->data(), 1, text->size(), stdout);
  }
  return 0;
}

int explain_command(const Options& o) {
  if (o.specs.empty())
    fmt::print("{}", codes_as_text());
  for (const std::string& id : o.specs) {
    const std::optional<Code> code = code_of(id);
    if (!code) {
      std::vector<std::string> known;
      for (Code c : all_codes())
        known.emplace_back(id_of(c));
      const Help help = suggest(id, {}, known, "`mtf explain` lists all");
      throw Failure(Exit::command_line,
                    fmt::format("there is no diagnostic '{}'; {}", id, help.text));
    }
    fmt::print("{}", *explanation(*code));
  }
  return 0;
}

int ops_command(const Options& o) {
  const std::string table = o.markdown ? ops_as_markdown() : ops_as_text();
  std::fwrite(table.data(), 1, table.size(), stdout);
  return 0;
}

int completion_command(const Options& o) {
  fmt::print("{}", completion_script(o.specs[0]));
  return 0;
}

void print_completion(const std::vector<std::string>& line) {
  std::vector<CommandWords> commands = command_words();
  for (CommandWords& c : commands) {
    auto add = [&](std::string_view word, std::string_view summary) {
      c.arguments.push_back({std::string(word), std::string(summary)});
    };
    if (c.name == "show")
      for (const std::string& name : library_names())
        add(name, "");
    if (c.name == "explain")
      for (Code code : all_codes())
        add(id_of(code), title_of(code));
    if (c.name == "init") {
      c.takes_files = true;
      for (const std::string& name : starter_names())
        add(name, "");
    }
  }
  const Completion found = complete(line, commands);
  for (const Candidate& c : found.words)
    fmt::print("{}\t{}\n", c.word, c.summary);
  if (!found.files.empty())
    fmt::print(":files\t{}\n", found.files);
}

int schema_command(const Options& o) {
  const bool library = !o.specs.empty() && o.specs[0] == "library";
  const std::string schema = library ? library_schema() : spec_schema();
  std::fwrite(schema.data(), 1, schema.size(), stdout);
  return 0;
}

}  // namespace mtf
