// `choose:`: names that stand for an op or block by the value of an option.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/interpreter.h"
#include "spec/later.h"
#include "spec/scalars.h"

namespace mtf {
namespace {

// "option 'positions'", by which a choice is made.
std::string option_of(const Frame& frame, std::string_view choice) {
  const YamlNode* cases = frame.block.body->find("choose")->find(choice);
  const YamlNode* by = cases ? cases->find("by") : nullptr;
  return by && by->text.starts_with('$') ? fmt::format("option '{}'", by->text.substr(1))
                                         : fmt::format("the choice of '{}'", choice);
}

}  // namespace

void Interpreter::choose(Frame& frame) {
  const YamlNode* choices = frame.body.find("choose");
  if (!choices)
    return;
  for (const auto& [key, cases] : choices->entries) {
    std::string& chosen = frame.chosen[key.text];
    const YamlNode* by = cases.find("by");
    if (!by) {
      report(Code::model_step, cases.span,
             fmt::format("the choice of '{}' has the form {{by: $option, case: name, else: name}}",
                         key.text));
      continue;
    }
    for (const auto& [word, target] : cases.entries)  // a case that is not taken is a use too
      if (const auto it = frame.block.file->blocks.find(target.text);
          it != frame.block.file->blocks.end())
        used_blocks_.insert(it->second.body);
    const YamlNode* match = by->text == "by" || by->text == "else" ? nullptr : cases.find(by->text);
    if (!match)
      match = cases.find("else");
    if (match && match->is_scalar()) {
      chosen = match->text;
      continue;
    }
    if (comes_later(by->text)) {
      found_.add(not_yet(by->text, by->span));
      continue;
    }
    std::vector<std::string> words;
    for (const auto& [word, target] : cases.entries)
      if (word.text != "by" && word.text != "else")
        words.push_back(word.text);
    std::sort(words.begin(), words.end());  // blocks that get one option word for word alike
    const auto is_said = [&](const Diagnostic& d) {  // an option may be handed on by another name
      return d.code == Code::model_unknown_name && d.where.file == by->span.file &&
             d.where.line == by->span.line && d.where.column == by->span.column;
    };
    const auto said = found_.all();
    const std::string meant(boolean_meant(by->text));
    const bool is_boolean = std::binary_search(words.begin(), words.end(), meant);
    const Help help = is_boolean
                          ? Help(fmt::format("did you mean '{}'?", meant), {{by->span, meant}})
                          : suggest(by->text, by->span, words);
    if (std::none_of(said.begin(), said.end(), is_said))
      report(Code::model_unknown_name, by->span,
             fmt::format("{} must be one of {}, not {}", option_of(frame, key.text), listed(words),
                         by->is_scalar() ? fmt::format("'{}'", by->text) : describe(*by)),
             help);
    if (const YamlNode* near = cases.find(help.meant()); near && near->is_scalar())
      chosen = near->text;
  }
}

}  // namespace mtf
