#include "model/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "model/library.h"
#include "ops/op.h"

namespace mtf {
namespace {

enum class Form : uint8_t { map, list, word, words, any };

struct KeyRow {
  std::string_view key;
  Form form;
};

constexpr KeyRow model_keys[] = {
    {"with", Form::map},   {"dims", Form::map},   {"inputs", Form::map},
    {"params", Form::map}, {"choose", Form::map}, {"blocks", Form::map},
    {"steps", Form::list}, {"loss", Form::word},  {"outputs", Form::map}};
constexpr KeyRow block_keys[] = {
    {"takes", Form::words}, {"with", Form::map},   {"dims", Form::map},   {"local", Form::word},
    {"params", Form::map},  {"choose", Form::map}, {"steps", Form::list}, {"gives", Form::any}};
// What a library file of a layer may hold besides.
constexpr KeyRow file_keys[] = {{"blocks", Form::map}};

bool fits(const YamlNode& n, Form form) {
  switch (form) {
    case Form::map:
      return n.is_map();
    case Form::list:
      return n.is_list();
    case Form::word:
      return n.is_scalar();
    case Form::words:
      return n.is_scalar() || (n.is_list() && std::all_of(n.items.begin(), n.items.end(),
                                                          [](auto& i) { return i.is_scalar(); }));
    case Form::any:
      return !n.is_list();
  }
  return false;
}

std::string_view name_of(Form form) {
  switch (form) {
    case Form::map:
      return "a map";
    case Form::list:
      return "a list";
    case Form::word:
      return "one word";
    case Form::words:
      return "a name or a list of names";
    case Form::any:
      return "a name or a map of names";
  }
  return "";
}

const KeyRow* find_row(std::span<const KeyRow> rows, std::string_view key) {
  auto it = std::find_if(rows.begin(), rows.end(), [&](const KeyRow& r) { return r.key == key; });
  return it == rows.end() ? nullptr : &*it;
}

}  // namespace

void ModelFiles::error(ModelFile& file, Code code, SourceSpan where, std::string message,
                       Help help) {
  diagnostics_.add({code, std::move(message), where, {}, std::move(help)});
  file.sound = false;
}

void ModelFiles::check_block(ModelFile& file, const Block& block) {
  if (!block.body->is_map()) {
    error(file, Code::spec_type, block.body->span, fmt::format("{} is a map", block.name));
    return;
  }
  std::span<const KeyRow> rows = block_keys;
  bool whole = block.body == &file.root;
  if (!block.is_layer() && whole)
    rows = model_keys;
  std::vector<std::string> known;
  for (const KeyRow& row : rows)
    known.emplace_back(row.key);
  for (const auto& [key, value] : block.body->entries) {
    const KeyRow* row = find_row(rows, key.text);
    if (!row && whole)
      row = find_row(file_keys, key.text);
    if (!row) {
      error(file, Code::spec_unknown_key, key.span,
            fmt::format("unknown key '{}' in {}", key.text, block.name),
            suggest(key.text, key.span, known, "its keys are " + listed(known)));
    } else if (!value.is_null() && !fits(value, row->form)) {
      error(file, Code::spec_type, value.span,
            fmt::format("'{}' of {} is {}", key.text, block.name, name_of(row->form)));
    }
  }
  const char* last = block.is_layer() || !whole ? "gives" : "steps";
  if (!block.body->find(last))
    error(file, Code::spec_missing_key, block.body->span,
          fmt::format("{} has no '{}'", block.name, last));
}

void ModelFiles::check(ModelFile& file) {
  check_block(file, file.whole);
  const YamlNode* blocks = file.root.find("blocks");
  if (!blocks || !blocks->is_map())
    return;
  for (const auto& [key, body] : blocks->entries) {
    if (find_op(key.text) || library_text(key.text) || key.text == "repeat" || key.text == "pass") {
      error(file, Code::model_duplicate_name, key.span,
            fmt::format("block '{}' would hide the {} of that name", key.text,
                        library_text(key.text) ? "library file" : "op"),
            "give it another name");
      continue;
    }
    auto [it, added] = file.blocks.emplace(
        key.text, Block{fmt::format("block '{}'", key.text), &body, &file, key.span});
    check_block(file, it->second);
  }
}

const ModelFile& ModelFiles::own(const YamlNode& model) {
  own_ = std::make_unique<ModelFile>();
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
    sources_.add(source, std::string(*text));
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
