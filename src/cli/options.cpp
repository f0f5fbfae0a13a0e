#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "base/error.h"
#include "cli/ranks.h"
#include "runtime/machine.h"

namespace mtf {
namespace {

// CLI11 reads 010 as 8 and -1 as a huge size: digits only, and in range.
std::string whole_number(const std::string& text) {
  const bool digits = !text.empty() && text.size() <= 9 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || (text.size() > 1 && text[0] == '0'))
    return "'" + text + "' is not a whole number in 0..999999999";
  return {};
}

// The arguments after each --set, with their positions.
std::vector<Override> overrides_of(int argc, char** argv) {
  std::vector<Override> out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--set" && i + 1 < argc) {
      ++i;
      out.push_back({argv[i], i});
    } else if (arg.starts_with("--set=")) {
      out.push_back({std::string(arg.substr(6)), i});
    }
  }
  return out;
}

std::string version_text() {
  std::string out = "mtf " MTF_VERSION;
  for (const Fact& library : library_versions())
    out += fmt::format("\n{:<8} {}", library.what, library.value);
  return out;
}

void common(CLI::App& c, Options& o, std::vector<std::string>& sets, bool many) {
  auto* specs = c.add_option("spec", o.specs, "spec file, or - for standard input")->required();
  if (!many)
    specs->expected(1);
  c.add_option("--set", sets, "replace a value: --set train.steps=10")
      ->take_all()
      ->allow_extra_args(false);
  c.add_option("--color", o.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

void running(CLI::App& c, Options& o) {
  c.add_flag("--local", o.local, "start the ranks of the mesh on this machine");
  c.add_option("--threads", o.threads, "threads of each rank")->check(whole_number);
}

constexpr const char* purpose =
    "mtf: named dims, a mesh and layout rules in one YAML file: validated, planned, trained and "
    "inferred.";

void declare_commands(CLI::App& app, Options& o, std::vector<std::string>& sets) {
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);

  auto* validate =
      app.add_subcommand("validate", "check specs: every mistake, at its place; opens no data");
  common(*validate, o, sets, true);
  validate->add_flag("--deny-warnings", o.deny_warnings, "warnings are errors");
  validate->add_option("--format", o.format, "text, json, jsonl, github, sarif or junit")
      ->check(CLI::IsMember({"text", "json", "jsonl", "github", "sarif", "junit"}));
  validate
      ->add_option("--max-errors", o.max_errors,
                   "show at most so many for each file, errors first; 0: all, as all formats but "
                   "text do")
      ->check(whole_number);

  auto* plan =
      app.add_subcommand("plan", "memory, FLOPs and communication of each device, exactly");
  common(*plan, o, sets, false);
  plan->add_flag("--program", o.list_program, "list the instructions");
  plan->add_option("--format", o.format, "text or json")->check(CLI::IsMember({"text", "json"}));
  plan->add_option("--threads", o.threads, "threads of each rank")->check(whole_number);

  auto* train = app.add_subcommand("train", "train, under mpirun or with --local");
  common(*train, o, sets, false);
  running(*train, o);
  train->add_flag("--resume", o.resume,
                  "continue from the newest step of the run directory, on any mesh");

  auto* eval = app.add_subcommand("eval", "loss and accuracy on held-out data");
  common(*eval, o, sets, false);
  running(*eval, o);
  eval->add_option("--checkpoint", o.checkpoint, "run directory or one step of it")
      ->type_name("PATH");

  auto* infer = app.add_subcommand("infer", "generate tokens, or write a model's outputs");
  common(*infer, o, sets, false);
  running(*infer, o);
  infer->add_option("--checkpoint", o.checkpoint, "run directory or one step of it")
      ->type_name("PATH");
  infer->add_option("--prompt", o.prompt, "text to continue; standard input otherwise");
  infer->add_option("--max-tokens", o.max_tokens, "how many tokens to generate")
      ->check(whole_number);

  auto* show = app.add_subcommand("show", "print a library file");
  show->add_option("name", o.specs, "its name; without one, the list of names");
  auto* explain = app.add_subcommand("explain", "what a diagnostic means, and how to mend it");
  explain->add_option("code", o.specs,
                      "such as layout.axis-reused; without one, the list of codes");
  auto* ops = app.add_subcommand("ops", "list the ops");
  ops->add_flag("--markdown", o.markdown, "as tables, with attributes, roles of dims and FLOPs");

  auto* init = app.add_subcommand("init", "write a commented starter spec");
  init->add_option("starter", o.specs,
                   "which one, and the file to write (- is standard output); without one, the "
                   "list of starters")
      ->expected(0, 2);
  auto* config =
      app.add_subcommand("config", "print a spec as it is read, with the origin of each value");
  common(*config, o, sets, false);
  app.add_subcommand("doctor", "what this machine has, and whether it keeps the laws");

  auto* schema =
      app.add_subcommand("schema", "print the JSON Schema of specs, or of library files");
  schema->add_option("what", o.specs, "spec, which is usual, or library")
      ->expected(0, 1)
      ->check(CLI::IsMember({"spec", "library"}));
  auto* completion = app.add_subcommand("completion", "print the completion script of a shell");
  completion->add_option("shell", o.specs, "bash, zsh or fish")
      ->required()
      ->expected(1)
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

// The words of `{text,json}`, which is how CLI11 describes a choice; none if it is another value.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> words;
  if (begin == std::string::npos || end == std::string::npos)
    return words;
  std::stringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(list, word, ',');)
    words.push_back(word);
  return words;
}

}  // namespace

std::vector<CommandWords> command_words() {
  Options o;
  std::vector<std::string> sets;
  CLI::App app(purpose);
  declare_commands(app, o, sets);
  std::vector<CommandWords> out;
  for (const CLI::App* command : app.get_subcommands({})) {
    CommandWords& words = out.emplace_back();
    words.name = command->get_name();
    words.summary = command->get_description();
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) {
        words.takes_files = option->get_name() == "spec";
        words.most_arguments = static_cast<size_t>(option->get_items_expected_max());
        for (const std::string& word : choices_of(*option))
          words.arguments.push_back({word, ""});
      } else {
        words.options.push_back({"--" + option->get_lnames().at(0), option->get_description(),
                                 option->get_items_expected_max() > 0,
                                 option->get_type_name() == "PATH", choices_of(*option)});
      }
    }
  }
  return out;
}

Parsed parse_command_line(int argc, char** argv) {
  Options o;
  std::vector<std::string> sets;
  CLI::App app(purpose);
  declare_commands(app, o, sets);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0)
      return {std::nullopt, app.exit(e)};
    const std::string word = argc > 1 ? argv[1] : "";
    const bool unknown =
        !word.empty() && word[0] != '-' &&
        app.get_subcommands([&](const CLI::App* c) { return c->get_name() == word; }).empty();
    if (speaks())
      fmt::print(stderr,
                 "mtf: error: {}; `mtf --help` and `mtf COMMAND --help` say what there is\n",
                 unknown ? "there is no command '" + word + "'" : e.what());
    return {std::nullopt, static_cast<int>(Exit::command_line)};
  }
  o.command = app.get_subcommands().front()->get_name();
  o.arguments.assign(argv + 1, argv + argc);
  o.overrides = overrides_of(argc, argv);
  return {o, 0};
}

}  // namespace mtf
