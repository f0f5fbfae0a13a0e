#include "report/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "model/library.h"
#include "spec/document.h"
#include "spec/language.h"

namespace mtf {
namespace {

// A key that the user or the library chose, and the words that it takes; none: any value.
struct Named {
  std::string name;
  std::vector<std::string> values = {};
};

std::vector<std::string> keys_at(const YamlNode& document, std::string_view path) {
  std::vector<std::string> keys;
  if (const YamlNode* node = document.at(path))
    for (const auto& [key, value] : node->entries)
      keys.push_back(key.text);
  return keys;
}

// The cases of the first choice by this option, if it allows no others.
std::vector<std::string> cases_of(const YamlNode& node, const std::string& option) {
  std::vector<std::string> cases;
  const YamlNode* by = node.find("by");
  if (by && by->text == "$" + option && !node.find("else"))
    for (const auto& [key, value] : node.entries)
      if (key.text != "by")
        cases.push_back(key.text);
  for (size_t i = 0; i < node.entries.size() && cases.empty(); ++i)
    cases = cases_of(node.entries[i].second, option);
  return cases;
}

// The options of the spec's model, which may be one of the library.
std::vector<Named> options_of(const YamlNode& document) {
  const YamlNode* model = document.find("model");
  const YamlNode* use = model ? model->find("use") : nullptr;
  const std::optional<std::string_view> text = use ? library_text(use->text) : std::nullopt;
  YamlNode file;
  if (text) {
    Sources sources;
    Diagnostics none;
    file = parse_yaml(sources, sources.add(use->text, std::string(*text)), none);
    model = &file;
  }
  std::vector<Named> options;
  const YamlNode* with = model ? model->find("with") : nullptr;
  for (size_t i = 0; with && i < with->entries.size(); ++i) {
    const auto& [key, value] = with->entries[i];
    Named& option = options.emplace_back(Named{key.text, cases_of(*model, key.text)});
    if (!value.quoted && (value.text == "true" || value.text == "false"))
      option.values = {"true", "false"};
  }
  return options;
}

// The axes of the mesh that holds where this path stands.
std::vector<std::string> axes_at(const YamlNode& document, std::string_view path) {
  std::vector<std::string> axes;
  if (path.starts_with("infer."))
    axes = keys_at(document, "infer.mesh");
  return axes.empty() ? keys_at(document, "mesh") : axes;
}

// What a map takes whose keys the user chooses.
std::vector<Named> names_at(const YamlNode& document, const std::string& path, Form form) {
  if (form == Form::options)
    return options_of(document);
  const bool own = path.starts_with("model.");
  const bool of_dims = form == Form::layout || form == Form::block_counts || form == Form::dims;
  std::vector<Named> names;
  for (const std::string& name : form == Form::mesh ? axes_at(document, path)
                                 : of_dims && !own  ? keys_at(document, "dims")
                                                    : keys_at(document, path))
    names.push_back({name});
  if (form == Form::layout)
    for (Named& dim : names)
      dim.values = axes_at(document, path);
  return names;
}

// Does the path lead through names of the user's, such as dims.DIM.size?
bool is_open(const std::string& path) {
  return std::any_of(path.begin(), path.end(), [](unsigned char c) { return std::isupper(c); });
}

// The command line of one command, up to the cursor.
class Line {
 public:
  Line(std::span<const std::string> words, const CommandWords& command) : command_(command) {
    for (size_t i = 0; i + 1 < words.size(); ++i)
      take(words[i]);
    current_ = words.back();
  }

  Completion complete() {
    if (open_)
      return values(*open_, current_);
    if (const size_t equals = current_.find('='); current_.starts_with("--") && equals < npos) {
      const OptionWords* option = find(current_.substr(0, equals));
      Completion out = option ? values(*option, current_.substr(equals + 1)) : Completion{};
      for (Candidate& c : out.words)
        c.word = current_.substr(0, equals + 1) + c.word;
      return {out.words, ""};
    }
    Completion out;
    if (current_.starts_with("-")) {
      for (const OptionWords& o : command_.options)
        out.words.push_back({o.name, o.summary});
    } else if (arguments_.size() < command_.most_arguments) {
      if (arguments_.empty() || !command_.takes_files)
        out.words = command_.arguments;
      if (command_.takes_files && out.words.empty())
        out.files = "*.yaml";
    }
    return out;
  }

 private:
  static constexpr size_t npos = std::string::npos;

  void take(const std::string& word) {
    if (open_ || word.starts_with("--set=")) {
      if (!open_ || open_->name == "--set")
        overrides_.push_back({open_ ? word : word.substr(6), 0});
      open_ = nullptr;
    } else if (const OptionWords* option = find(word)) {
      open_ = option->takes_value ? option : nullptr;
    } else if (!word.starts_with("--")) {
      arguments_.push_back(word);
    }
  }

  const OptionWords* find(std::string_view name) const {
    auto option = std::find_if(command_.options.begin(), command_.options.end(),
                               [&](const OptionWords& o) { return o.name == name; });
    return option == command_.options.end() ? nullptr : &*option;
  }

  Completion values(const OptionWords& option, std::string_view typed) const {
    Completion out;
    if (option.name == "--set")
      out.words = override_words(document(), typed);
    for (const std::string& value : option.values)
      out.words.push_back({value, ""});
    if (option.takes_path)
      out.files = "*";
    return out;
  }

  YamlNode document() const {
    if (arguments_.empty() || arguments_[0] == "-")
      return {};
    Sources sources;
    Diagnostics none;
    try {
      return read_document(sources, arguments_[0], overrides_, none);
    } catch (const Failure&) {
      return {};
    }
  }

  const CommandWords& command_;
  std::vector<std::string> arguments_;
  std::vector<Override> overrides_;
  const OptionWords* open_ = nullptr;  // whose value comes next
  std::string current_;
};

}  // namespace

std::vector<Candidate> override_words(const YamlNode& document, std::string_view typed) {
  const std::string_view key = typed.substr(0, typed.find('='));
  const bool wants_value = key.size() < typed.size();
  std::vector<Candidate> out;
  auto add = [&](const std::string& path, std::string_view summary, const auto& values) {
    if (!wants_value)
      out.push_back({path + "=", std::string(summary)});
    else if (path == key)
      for (const auto& value : values)
        out.push_back({fmt::format("{}={}", path, value), ""});
  };
  for_each_key([&](const std::string& path, const KeyRow& row) {
    if (is_open(path) || row.name == "extends" || row.form == Form::keys || row.form == Form::model)
      return;
    add(path, row.summary, row.words);
    if (!has_user_keys(row.form))
      return;
    const std::vector<Named> names = names_at(document, path, row.form);
    for (const Named& named : names)
      add(path + "." + named.name, "", named.values);
    if (names.empty() && !wants_value)
      out.push_back({path + ".", std::string(row.summary)});
  });
  return out;
}

Completion complete(std::span<const std::string> line, std::span<const CommandWords> commands) {
  Completion out;
  if (line.size() == 1) {
    out.words = {{"--help", "what there is"}, {"--version", "of mtf and its libraries"}};
    for (const CommandWords& c : commands)
      out.words.push_back({c.name, c.summary});
  } else if (!line.empty()) {
    auto command = std::find_if(commands.begin(), commands.end(),
                                [&](const CommandWords& c) { return c.name == line[0]; });
    if (command != commands.end())
      out = Line(line.subspan(1), *command).complete();
  }
  std::erase_if(out.words, [&](const Candidate& c) { return !c.word.starts_with(line.back()); });
  return out;
}

}  // namespace mtf
