// Models and blocks: options, inputs, parameters, choices, results. Steps are in steps.cpp.
#include "model/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/library.h"
#include "model/options.h"
#include "spec/later.h"
#include "spec/scalars.h"

namespace mtf {
namespace {

// Of steps that could not be checked: the first few.
std::string not_checked(const std::set<std::string>& steps) {
  constexpr size_t most = 3;
  std::vector<std::string> names(steps.begin(), steps.end());
  if (names.size() == 1)
    return fmt::format("step {} reads what is wrong here and was not checked", names[0]);
  if (names.size() > most + 1) {
    names.resize(most);
    names.push_back(fmt::format("{} more", steps.size() - most));
  }
  return fmt::format("steps {} read what is wrong here and were not checked", listed(names));
}

}  // namespace

Interpreter::Interpreter(const Spec& spec, Sources& sources, const Numerics& numerics,
                         Diagnostics& diagnostics, BuildOptions options)
    : spec_(spec),
      diagnostics_(diagnostics),
      options_(options),
      builder_(model_.graph, numerics, found_),
      dims_(spec, options.microbatches, model_.graph, found_),
      files_(sources, found_) {
  builder_.training = options.training;
  builder_.padded = options.padded;
  builder_.seed = spec.train ? spec.train->seed : 1;
}

std::optional<Model> Interpreter::run() {
  run_model();
  report_unused_dims();
  hand_over(diagnostics_);
  if (found_.has_errors() || !dims_.sized())
    return std::nullopt;
  for (const Declared& d : declared_)
    if (d.node.index >= 0)
      model_.parameters.push_back({d.path, d.node, d.value.value_or(Init{}), d.span});
  std::sort(model_.parameters.begin(), model_.parameters.end(),
            [](const Parameter& a, const Parameter& b) { return path_less(a.path, b.path); });
  return std::move(model_);
}

// Of a model with mistakes only those dims that it does not even mention; not if parts of it are
// unknown.
void Interpreter::report_unused_dims() {
  if (found_.has_errors()) {
    const auto all = found_.all();
    const bool part_unknown = std::any_of(
        all.begin(), all.end(), [](const Diagnostic& d) { return d.code == Code::spec_later; });
    if (part_unknown || model_.graph.nodes.empty())
      return;
    for (const std::string& word : words_of_model(spec_))
      dims_.use(word);
  }
  dims_.report_unused();
}

Graph Interpreter::part() {
  run_model();
  Graph& graph = model_.graph;
  std::vector<char> read(graph.nodes.size(), 0);
  for (const Node& node : graph.nodes)
    for (NodeId in : node.inputs)
      read[static_cast<size_t>(in.index)] = 1;
  graph.outputs.clear();
  for (size_t i = 0; i < read.size(); ++i)
    if (!read[i])
      graph.outputs.push_back({"", {static_cast<int32_t>(i)}});
  return std::move(graph);
}

int Interpreter::first_error_since(size_t findings) const {
  for (size_t i = findings; i < found_.all().size(); ++i)
    if (found_.all()[i].severity == Severity::error)
      return static_cast<int>(i);
  return -1;
}

// Mistakes in library files name the place in the spec that uses them.
void Interpreter::hand_over(Diagnostics& to) {
  int index = 0;
  for (Diagnostic d : found_.all()) {
    if (const auto it = unchecked_.find(index++); it != unchecked_.end())
      d.notes.emplace_back(SourceSpan{}, not_checked(it->second));
    SourceSpan user = files_.user_place(d.where);
    if (user.file != d.where.file) {
      d.notes.emplace_back(user, "the library file is used here");
      d.help.edits.clear();
    }
    to.add(std::move(d));
  }
}

Value Interpreter::report(Code code, SourceSpan where, std::string message, Help help) {
  found_.add({code, std::move(message), where, {}, std::move(help)});
  return {};
}

void Interpreter::run_model() {
  const ModelFile* file = nullptr;
  const YamlNode* given = nullptr;
  if (const YamlNode* use = spec_.model.find("use")) {
    for (const auto& [key, value] : spec_.model.entries)
      if (key.text != "use" && key.text != "with")
        report(Code::spec_unknown_key, key.span,
               fmt::format("'{}' cannot stand beside `use:`, which takes the whole model from a "
                           "library file",
                           key.text));
    if (!use->is_scalar())
      return report_type(*use, "use", "the name of a library file", found_);
    file = files_.library(use->text, use->span);
    if (!file && comes_later(use->text)) {
      found_.add(not_yet(use->text, use->span));
      return;
    }
    if (!file) {
      std::vector<std::string> names = library_names();
      report(Code::model_unknown_name, use->span,
             fmt::format("no library file is called '{}'", use->text),
             suggest(use->text, use->span, names, there_are(names)));
      return;
    }
    given = spec_.model.find("with");
  } else {
    file = &files_.own(spec_.model, spec_.document);
  }
  if (!file->sound)
    return;
  if (file->whole.is_layer()) {
    report(Code::model_step, spec_.model.span,
           fmt::format("{} is a layer, not a whole model; use it in a step", file->whole.name));
    return;
  }
  Frame frame{file->whole, {}, "", 0, {}, {}, {}};
  if (open(frame, given)) {
    declare_inputs(frame);
    declare_params(frame);
    run_steps(frame);
    name_results(frame);
    close(frame);
  }
  dims_.leave();
}

// Options, dims and choices of a block. False after a mistake in the options: the body makes no
// sense.
bool Interpreter::open(Frame& frame, const YamlNode* given) {
  Diagnostics mistakes;
  const YamlNode& body = *frame.block.body;
  YamlNode options = merged_options(body.find("with"), given, frame.block.name, mistakes);
  YamlNode shown;
  shown.kind = YamlNode::Kind::map;
  for (const auto& entry : body.entries)
    if (entry.first.text != "with" && entry.first.text != "blocks")
      shown.entries.push_back(entry);
  std::set<std::string, std::less<>> read;
  frame.body = expanded(shown, options, mistakes, &read);
  const YamlNode* with = body.find("with");
  if (with && !frame.block.file->library && !mistakes.has_errors())  // a misspelt use is one
    for (const auto& [key, value] : with->entries)
      if (!read.contains(key.text))
        report(Code::model_unused, key.span, fmt::format("nothing uses option '{}'", key.text));
  for (const Diagnostic& d : mistakes.all())
    found_.add(d);
  const YamlNode* local = frame.body.find("local");
  bool is_local =
      local && !local->is_null() && read_boolean(*local, "local", found_).value_or(false);
  frame.depth = dims_.enter(frame.body.find("dims"), is_local, frame.scope);
  const auto all = mistakes.all();  // an edit says what is meant, and that was taken
  if (std::any_of(all.begin(), all.end(), [](const Diagnostic& d) {
        return d.severity == Severity::error && d.help.edits.empty();
      }))
    return false;
  choose(frame);
  return true;
}

// Warnings for what the user's own text declares in vain.
void Interpreter::close(Frame& frame) {
  if (frame.block.file->library || found_.has_errors())
    return;
  for (const auto& [name, entry] : frame.names)
    if (entry.should_be_read && !entry.read)
      report(Code::model_unused, entry.span, fmt::format("nothing uses '{}'", name));
  if (frame.block.body != &frame.block.file->root)
    return;
  for (const auto& [name, block] : frame.block.file->blocks)
    if (!used_blocks_.contains(block.body))
      report(Code::model_unused, block.span, fmt::format("nothing uses block '{}'", name));
}

void Interpreter::define(Frame& frame, const YamlNode::Key& key, Value value, bool should_be_read) {
  if (!is_name(key.text)) {
    report(Code::model_step, key.span,
           fmt::format("'{}' is no name: letters, digits and _", key.text));
    return;
  }
  auto [it, added] =
      frame.names.emplace(key.text, Name{std::move(value), key.span, false, should_be_read});
  if (!added)
    found_.add({Code::model_duplicate_name,
                fmt::format("'{}' is defined twice", key.text),
                key.span,
                {{it->second.span, fmt::format("'{}' is defined here", key.text)}},
                {}});
}

FindDim Interpreter::dims_at(size_t depth) {
  return [this, depth](const std::string& name, SourceSpan where) {
    return dims_.find(name, where, depth);
  };
}

bool Interpreter::check_keys(const YamlNode& map, std::string_view a, std::string_view b,
                             const std::string& whose) {
  bool good = true;
  for (const auto& [key, value] : map.entries)
    if (key.text != a && key.text != b) {
      report(Code::spec_unknown_key, key.span,
             fmt::format("unknown key '{}' of {}", key.text, whose),
             fmt::format("known keys are {} and {}", a, b));
      good = false;
    }
  return good;
}

void Interpreter::declare_inputs(Frame& frame) {
  const YamlNode* inputs = frame.body.find("inputs");
  if (!inputs)
    return;
  for (const auto& [key, value] : inputs->entries) {
    const size_t before = found_.all().size();
    const YamlNode* dims = value.is_map() ? value.find("dims") : &value;
    const YamlNode* dtype = value.find("dtype");
    const bool known = check_keys(value, "dims", "dtype", "input '" + key.text + "'");
    std::optional<std::vector<DimId>> ids;
    if (dims)
      ids = read_dims(*dims, "dims", dims_at(frame.depth), found_);
    else if (known)
      report(Code::spec_missing_key, value.span, fmt::format("input '{}' has no 'dims'", key.text));
    std::optional<DType> type = builder_.numerics.statistics();
    if (dtype && !dtype->is_null())
      type = read_dtype(*dtype, "dtype", found_);
    bool good = known && ids && type &&
                std::none_of(ids->begin(), ids->end(), [](DimId d) { return d.index < 0; });
    Value leaf;
    builder_.origin = {key.span, key.text};
    if (good)
      leaf.node = builder_.leaf("input", key.text, {{*ids}, *type});
    leaf.cause = first_error_since(before);
    define(frame, key, std::move(leaf), true);
  }
  builder_.batch = dims_.batch();
}

void Interpreter::declare_params(Frame& frame) {
  const YamlNode* params = frame.body.find("params");
  if (!params)
    return;
  for (const auto& [key, value] : params->entries) {
    const size_t before = found_.all().size();
    Declared d;
    d.path = frame.scope.empty() ? key.text : frame.scope + "/" + key.text;
    d.dims = value.is_map() ? value.find("dims") : &value;
    d.init = value.find("init");
    d.span = key.span;
    d.depth = frame.depth;
    const bool known = check_keys(value, "dims", "init", "parameter '" + key.text + "'");
    if (!d.dims && known)
      report(Code::spec_missing_key, value.span,
             fmt::format("parameter '{}' has no 'dims'", key.text));
    d.failed = !d.dims;
    d.cause = first_error_since(before);
    declared_.push_back(std::move(d));
    Value leaf;
    leaf.parameter = &declared_.back();
    define(frame, key, leaf, true);
  }
}

void Interpreter::make_leaf(Declared& d) {
  const size_t before = found_.all().size();
  FindDim find = dims_at(d.depth);
  std::optional<std::vector<DimId>> dims = read_dims(*d.dims, "dims", find, found_);
  bool good =
      dims && std::none_of(dims->begin(), dims->end(), [](DimId id) { return id.index < 0; });
  if (good && d.init && !d.init->is_null()) {
    d.value = read_init(*d.init, model_.graph, find, found_);
    good = d.value.has_value();
  }
  d.failed = !good;
  d.cause = first_error_since(before);
  if (!good)
    return;
  Origin step = builder_.origin;
  builder_.origin = {d.span, d.path};
  d.node = builder_.leaf("parameter", d.path, {{*dims}, builder_.numerics.statistics()});
  builder_.origin = step;
}

// `loss:` and `outputs:` of a model.
void Interpreter::name_results(Frame& frame) {
  Graph& graph = model_.graph;
  graph.loss_sum = graph.loss_count = {};  // of the last loss op, which need not be the loss
  if (const YamlNode* outputs = frame.body.find("outputs"))
    for (const auto& [key, value] : outputs->entries) {
      if (!is_name(key.text))
        report(Code::model_step, key.span,
               fmt::format("'{}' is no name: letters, digits and _", key.text));
      if (auto input = frame.names.find(key.text); input != frame.names.end())
        input->second.read = true;  // an output named as an input is compared with it
      NodeId node = node_of(read(frame, value), value.span);
      if (node.index >= 0)
        graph.outputs.push_back({key.text, node});
    }
  const YamlNode* loss = frame.body.find("loss");
  if (!loss || loss->is_null())
    return;
  NodeId node = node_of(read(frame, *loss), loss->span);
  if (node.index < 0)
    return;
  const Type& type = graph[node].type;
  if (!type.shape.dims.empty() || !is_float(type.dtype)) {
    report(Code::model_shape, loss->span,
           fmt::format("the loss must be one floating-point number; '{}' is {} {}", loss->text,
                       name_of(type.dtype), graph.show(type.shape)));
    return;
  }
  graph.loss = graph.loss_sum = node;
  for (const Composite& c : graph.composites)  // a loss op saves the two nodes that it divides
    if (c.result == node && c.saved.size() == 2 && c.saved == graph[node].inputs) {
      graph.loss_sum = c.saved[0];
      graph.loss_count = c.saved[1];
    }
}

}  // namespace mtf
