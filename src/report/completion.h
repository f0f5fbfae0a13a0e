// Completion of the command line in shells. A script asks the executable: `mtf __complete WORDS`
// prints what may stand in place of the last word, the one at the cursor.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/yaml.h"

namespace mtf {

struct Candidate {
  std::string word, summary;
};

struct OptionWords {
  std::string name;  // "--format"
  std::string summary;
  bool takes_value = false;
  bool takes_path = false;
  std::vector<std::string> values;  // empty: any
};

struct CommandWords {
  std::string name, summary;
  std::vector<OptionWords> options;
  std::vector<Candidate> arguments;  // words that stand behind it: all, or
  bool takes_files = false;          // the first only: spec files follow
  size_t most_arguments = 0;
};

struct Completion {
  std::vector<Candidate> words;  // one that ends in = or . is not done
  std::string files;             // files of this pattern fit too; empty: none
};

// `line`: the words behind `mtf`, up to the cursor; the last may be empty. Reads the spec that is
// named there; one that cannot be read is taken as empty.
Completion complete(std::span<const std::string> line, std::span<const CommandWords> commands);

// What may stand behind --set where `typed` stands: the keys of the language and of the document
// ("train.steps=", "dims.batch="), or, behind the =, the words that the key takes.
std::vector<Candidate> override_words(const YamlNode& document, std::string_view typed);

// The script that teaches a shell, "bash", "zsh" or "fish".
std::string_view completion_script(std::string_view shell);

}  // namespace mtf
