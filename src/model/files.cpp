#include "model/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "model/foreign_ops.h"
#include "model/library.h"
#include "ops/op.h"
#include "spec/language.h"
#include "spec/later.h"
#include "spec/misplaced.h"
#include "spec/scalars.h"

namespace mtf {
namespace {

std::string_view name_of(Form form) {
  switch (form) {
    case Form::steps:
      return "a list";
    case Form::value:
    case Form::boolean:
    case Form::text:
      return "one word";
    case Form::values:
      return "a name or a list of names";
    case Form::results:
      return "a name or a map of names";
    default:
      return "a map";
  }
}

// What a step means by this word unless the user binds it: "op", ...; "" if nothing.
std::string_view meaning_of(std::string_view word) {
  if (library_text(word))
    return "library file";
  if (word == "with")
    return "key of steps";
  const OpDef* op = find_op(word);
  return (op && !op->internal) || word == "repeat" || word == "pass" ? "op" : "";
}

}  // namespace

Diagnostic unknown_op(std::string_view word, SourceSpan where, const ModelFile& file,
                      std::span<const std::string> others) {
  std::vector<std::string> known = step_words();
  for (const auto& [name, block] : file.blocks)
    known.push_back(name);
  known.insert(known.end(), others.begin(), others.end());
  Help help = suggest(word, where, known, "`mtf ops` lists the ops, `mtf show` the library");
  if (const std::string meant(op_meant_by(word)); !meant.empty())
    help = {fmt::format("it is called '{}' here{}{}", meant, find_op(meant) ? ": " : "",
                        find_op(meant) ? find_op(meant)->summary : ""),
            {{where, meant}}};
  return {Code::model_unknown_name,
          fmt::format("no op, block or library file is called '{}'", word),
          where,
          {},
          std::move(help)};
}

std::vector<std::string> step_words() {
  std::vector<std::string> words = library_names();
  words.insert(words.end(), {"repeat", "pass", "with"});
  for (const OpDef* op : all_ops())
    if (!op->internal)
      words.emplace_back(op->name);
  return words;
}

bool ModelFiles::check_name(ModelFile& file, const std::string& whose, const YamlNode::Key& key,
                            std::string_view hidden) {
  if (hidden.empty())
    return true;
  error(file, Code::model_duplicate_name, key.span,
        fmt::format("{} '{}' would hide the {} of that name", whose, key.text, hidden),
        "give it another name");
  return false;
}

void ModelFiles::error(ModelFile& file, Code code, SourceSpan where, std::string message,
                       Help help) {
  diagnostics_.add({code, std::move(message), where, {}, std::move(help)});
  file.sound = false;
}

// Where it is plain what a key means, or where nothing reads a wrong value (the results), what is
// left of the block is sound.
void ModelFiles::check_block(ModelFile& file, const Block& block, YamlNode& body) {
  if (!body.is_map()) {
    error(file, Code::spec_type, body.span, fmt::format("{} is a map", block.name));
    return;
  }
  const bool whole = &body == &file.root;
  const KeyTable& table = key_table(whole && !block.is_layer() ? "model" : "model.blocks.BLOCK");
  std::vector<std::string> unknown;
  std::set<std::string_view> wrong;
  for (YamlNode::Entry& entry : body.entries) {
    auto& [key, value] = entry;
    const KeyRow* row = key.text == "use" ? nullptr : table.find(key.text);  // of a spec alone
    if (!row && whole && key.text == "blocks")  // of a library file that is a layer
      row = key_table("model").find(key.text);
    if (!row) {
      const MeantKey meant = meant_key(entry, table.title, table.names(), {});
      diagnostics_.add({Code::spec_unknown_key,
                        fmt::format("unknown key '{}' in {}", key.text, block.name),
                        key.span,
                        {},
                        meant.help});
      unknown.push_back(key.text);
      row = body.find(meant.here) ? nullptr : table.find(meant.here);
      if (row)
        key.text = meant.here;
      else
        file.sound = false;
    }
    if (!row || value.is_null() || fits(value, row->form))
      continue;
    diagnostics_.add({Code::spec_type,
                      fmt::format("'{}' of {} is {}", key.text, block.name, name_of(row->form)),
                      value.span,
                      {},
                      {}});
    file.sound = file.sound && (key.text == "outputs" || key.text == "loss");
    wrong.insert(row->name);
    value = {};
  }
  for (const KeyRow& row : table.rows)
    if (const YamlNode* value = body.find(row.name);
        row.required && (!value || (value->is_null() && !wrong.contains(row.name))) &&
        nearest(row.name, unknown).empty())
      error(file, Code::spec_missing_key, body.span,
            fmt::format("{} has no '{}'", block.name, row.name),
            whole && file.extends ? "a `model:` replaces that of the spec it extends as a whole"
                                  : "");
  check_choices(file, body);
}

// Every case must name something that a step may use, whether it is taken or not.
void ModelFiles::check_choices(ModelFile& file, YamlNode& body) {
  YamlNode* choices = body.find("choose");
  if (!choices)
    return;
  const YamlNode* blocks = file.root.find("blocks");
  const auto is_block = [&](std::string_view word) { return blocks && blocks->find(word); };
  for (auto& [key, cases] : choices->entries) {
    check_name(file, "choice", key, is_block(key.text) ? "block" : meaning_of(key.text));
    for (auto& [word, target] : cases.entries) {
      const bool is_option = word.text == "by";
      if ((target.is_null() && !is_option) || target.text.find('$') != std::string::npos)
        continue;
      if (is_option) {
        error(file, Code::model_step, target.span,
              fmt::format("'by' of '{}' must be an option, not {}", key.text, describe(target)),
              fmt::format("name an option of `with:`, such as `by: ${}`",
                          target.is_scalar() ? target.text : "option"));
      } else if (!target.is_scalar()) {
        error(file, Code::spec_type, target.span,
              fmt::format("case '{}' of '{}' must be the name of an op or block, not {}", word.text,
                          key.text, describe(target)));
      } else if (!is_block(target.text) && !comes_later(target.text) &&
                 (meaning_of(target.text).empty() || target.text == "with")) {
        Diagnostic unknown = unknown_op(target.text, target.span, file);
        target.text = unknown.help.meant();  // "": what is chosen is not known, and was reported
        diagnostics_.add(std::move(unknown));
      }
    }
  }
}

void ModelFiles::check(ModelFile& file) {
  check_block(file, file.whole, file.root);
  YamlNode* blocks = file.root.find("blocks");
  if (!blocks || !blocks->is_map())
    return;
  for (auto& [key, body] : blocks->entries) {
    if (body.is_null())
      continue;
    if (!check_name(file, "block", key, meaning_of(key.text)))
      continue;
    auto [it, added] = file.blocks.emplace(
        key.text, Block{fmt::format("block '{}'", key.text), &body, &file, key.span});
    check_block(file, it->second, body);
  }
}

const ModelFile& ModelFiles::own(const YamlNode& model, const YamlNode& document) {
  own_ = std::make_unique<ModelFile>();
  for (const auto& [key, value] : document.entries)
    own_->extends = own_->extends || (key.span.file != model.span.file &&
                                      sources_[key.span.file].kind == SourceKind::file);
  own_->root = model;
  own_->whole = {"the model", &own_->root, own_.get(), model.span};
  check(*own_);
  return *own_;
}

const ModelFile* ModelFiles::library(std::string_view name, SourceSpan where) {
  if (auto it = library_.find(name); it != library_.end())
    return it->second.get();
  std::optional<std::string_view> text = library_text(name);
  if (!text)
    return nullptr;
  std::string source = fmt::format("library:{}", name);
  int id = 0;
  while (id < sources_.size() && sources_[id].name != source)
    ++id;
  if (id == sources_.size())
    sources_.add(source, std::string(*text), SourceKind::other);
  used_at_.emplace(id, user_place(where));
  auto file = std::make_unique<ModelFile>();
  file->library = true;
  file->root = parse_yaml(sources_, id, diagnostics_);
  file->whole = {fmt::format("'{}'", name), &file->root, file.get(), file->root.span};
  check(*file);
  return library_.emplace(name, std::move(file)).first->second.get();
}

SourceSpan ModelFiles::user_place(SourceSpan place) const {
  auto it = used_at_.find(place.file);
  return it == used_at_.end() ? place : it->second;
}

}  // namespace mtf
