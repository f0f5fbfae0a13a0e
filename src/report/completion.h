// Completion of the command line in shells: commands, options, spec files, and behind --set the
// keys of the language with the words that they take.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtf {

struct OptionWords {
  std::string name;  // "--format"
  std::string summary;
  bool takes_value = false;
  std::vector<std::string> values;  // empty: any
};

struct CommandWords {
  std::string name, summary;
  std::vector<OptionWords> options;
  bool takes_files = false;            // spec files stand behind it
  std::vector<std::string> arguments;  // or these words
};

// What may stand behind --set: "train.steps=", "train.accumulate=blocks", "dims.".
std::vector<std::string> override_words();

// The script that teaches a shell, "bash", "zsh" or "fish".
std::string completion_script(std::string_view shell, std::span<const CommandWords> commands);

}  // namespace mtf
