// Steps of models and blocks: one op, block, repeat or pass each.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/interpreter.h"
#include "spec/later.h"
#include "spec/scalars.h"

namespace mtf {
namespace {

constexpr int max_suggestions = 100;  // nobody reads more, and each looks at all names

std::string joined(const std::string& scope, const std::string& name) {
  return scope.empty() ? name : scope + "/" + name;
}

}  // namespace

void Interpreter::run_steps(Frame& frame) {
  const YamlNode* steps = frame.body.find("steps");
  if (!steps)
    return;
  for (const YamlNode& item : steps->items) {
    if (!item.is_map() || item.entries.size() != 1) {
      report(Code::model_step, item.span, "a step has the form `result: {op: operands, ...}`");
      for (const Entry& step :
           item.entries)  // unknown values, so that their readers are no mistakes
        define(frame, step.first, {}, false);
      continue;
    }
    const Entry& step = item.entries[0];
    const size_t before = found_.all().size();
    Value value = run_step(frame, step);
    if (value.unknown() && value.cause < 0)
      value.cause = first_error_since(before);
    define(frame, step.first, std::move(value), true);
  }
}

Value Interpreter::run_step(Frame& frame, const Entry& step) {
  if (!may_grow(step.first.span))
    return {};
  std::optional<Call> call = take_apart(frame, step);
  return call ? apply(frame, *call) : Value{};
}

// The first key that names an op or block is the call; the others are its attributes.
std::optional<Interpreter::Call> Interpreter::take_apart(Frame& frame, const Entry& step) {
  const auto& [result, body] = step;
  if (!body.is_map() || body.entries.empty()) {
    report(Code::model_step, body.span,
           fmt::format("step '{}' has the form `{}: {{op: operands, ...}}`", result.text,
                       result.text));
    return std::nullopt;
  }
  Call call;
  call.path = joined(frame.scope, result.text);
  for (const Entry& entry : body.entries) {
    if (entry.first.text == "with") {
      call.with = &entry.second;
      continue;
    }
    if (!call.head) {
      call.target = find_target(frame, entry.first.text, entry.first.span);
      if (call.target.kind != Target::Kind::none) {
        call.head = &entry;
        continue;
      }
    }
    call.attributes.push_back(&entry);
  }
  if (!call.head) {
    call.target =
        report_unknown_op(frame, call.attributes.empty() ? result : call.attributes[0]->first);
    if (!call.attributes.empty()) {
      call.head = call.attributes[0];
      call.attributes.erase(call.attributes.begin());
    }
  }
  if (call.target.kind == Target::Kind::none || call.target.kind == Target::Kind::reported) {
    if (call.head)
      read_operands(frame, call.head->second);
    return std::nullopt;
  }
  return call;
}

Interpreter::Target Interpreter::find_target(Frame& frame, std::string_view word,
                                             SourceSpan where) {
  if (auto it = frame.chosen.find(word); it != frame.chosen.end()) {
    if (it->second.empty())
      return {Target::Kind::reported, nullptr, nullptr, true};
    Target target = find_unchosen(frame.block, it->second, where);
    target.chosen = true;
    return target;
  }
  return find_unchosen(frame.block, word, where);
}

Interpreter::Target Interpreter::find_unchosen(const Block& block, std::string_view word,
                                               SourceSpan where) {
  if (word == "pass")
    return {Target::Kind::pass};
  if (word == "repeat")
    return {Target::Kind::repeat};
  if (auto it = block.file->blocks.find(word); it != block.file->blocks.end()) {
    used_blocks_.insert(it->second.body);
    return {Target::Kind::block, nullptr, &it->second};
  }
  if (const OpDef* op = find_op(word); op && !op->internal)
    return {Target::Kind::op, op, nullptr};
  if (const ModelFile* file = files_.library(word, where))
    return {file->sound ? Target::Kind::block : Target::Kind::reported, nullptr, &file->whole};
  return {};
}

Interpreter::Target Interpreter::report_unknown_op(Frame& frame, const YamlNode::Key& key) {
  std::string word = key.text;
  if (auto it = frame.chosen.find(word); it != frame.chosen.end())
    word = it->second;  // the value of an option
  if (comes_later(word)) {
    found_.add(not_yet(word, key.span));
    return {};
  }
  std::vector<std::string> choices;
  for (const auto& [name, target] : frame.chosen)
    choices.push_back(name);
  Diagnostic unknown = unknown_op(word, key.span, *frame.block.file, choices);
  if (word != key.text)
    unknown.help.edits.clear();
  const std::string meant = unknown.help.meant();
  found_.add(std::move(unknown));
  return meant.empty() ? Target{} : find_target(frame, meant, key.span);
}

Value Interpreter::apply(Frame& frame, const Call& call) {
  if (call.target.kind == Target::Kind::repeat)
    return apply_repeat(frame, call);
  const size_t before = found_.all().size();
  std::vector<Value> operands = read_operands(frame, call.head->second);
  if (call.target.kind == Target::Kind::op) {
    const int cause = first_error_since(before) >= 0 ? -1 : cause_of(operands);
    if (cause >= 0)
      unchecked_[cause].insert(call.path);
    Value value = apply_op(frame, call, std::move(operands));
    value.cause = cause;
    return value;
  }
  if (call.target.kind == Target::Kind::pass)
    return apply_pass(call, std::move(operands));
  const YamlNode::Key& head = call.head->first;
  if (!call.target.block->is_layer() && call.target.block->body == &call.target.block->file->root)
    return report(Code::model_step, head.span,
                  fmt::format("{} is a whole model, not a layer; `model: {{use: ...}}` takes it",
                              call.target.block->name));
  for (const Entry* attribute : call.attributes)
    report(Code::model_attribute, attribute->first.span,
           fmt::format("{} takes no attribute '{}'; options stand in `with:`",
                       call.target.block->name, attribute->first.text));
  return call_block(call, *call.target.block, std::move(operands), call.path);
}

int Interpreter::cause_of(const std::vector<Value>& operands) {
  for (const Value& v : operands)
    if (const int cause = v.parameter ? v.parameter->cause : v.cause; cause >= 0)
      return cause;
  return -1;
}

// A `pass` that was chosen stands in the place of an op or block, whose attributes it may be given.
Value Interpreter::apply_pass(const Call& call, std::vector<Value> operands) {
  if (!call.target.chosen) {
    for (const Entry* attribute : call.attributes)
      report(Code::model_attribute, attribute->first.span,
             fmt::format("pass takes no attribute '{}'", attribute->first.text),
             "it gives its first operand as it is");
    if (call.with)
      report(Code::model_attribute, call.with->span, "pass has no options",
             "it gives its first operand as it is");
  }
  if (operands.empty())
    return report(Code::model_step, call.head->first.span, "pass takes at least one operand");
  return operands[0];
}

Value Interpreter::apply_op(Frame& frame, const Call& call, std::vector<Value> operands) {
  const OpDef& op = *call.target.op;
  if (call.with)
    report(Code::model_attribute, call.with->span,
           fmt::format("{} is an op and has no options; write its attributes beside it", op.name));
  builder_.named.clear();
  builder_.written.clear();
  for (const Entry* attribute : call.attributes)
    builder_.written.emplace_back(attribute->first.text, attribute->second.span);
  const FindDim find = [this, &frame](const std::string& name, SourceSpan where) {
    const DimId d = dims_.find(name, where, frame.depth);
    builder_.named.emplace_back(d, where);
    return d;
  };
  std::optional<Attrs> attrs = read_attributes(op, call.attributes, find, found_);
  if (call.target.chosen && op.max_operands >= 0 &&
      operands.size() > static_cast<size_t>(op.max_operands))
    operands.resize(static_cast<size_t>(op.max_operands));
  builder_.origin = {call.head->first.span, call.path};
  std::vector<NodeId> nodes;
  for (const Value& value : operands)
    nodes.push_back(node_of(value, call.head->second.span));
  bool known = std::all_of(nodes.begin(), nodes.end(), [](NodeId id) { return id.index >= 0; });
  if (attrs && !known)
    builder_.require_attributes(op, nodes, *attrs);
  if (!attrs || !known)
    return {};
  if (op.random && options_.training && builder_.step.index < 0)
    builder_.step = builder_.leaf("input", "driver:step", {{}, DType::i32});
  Value result;
  result.node = builder_.add(op, nodes, std::move(*attrs));
  if (op.name != "einsum" || result.node.index < 0)
    return result;
  for (const Value& value : operands)
    if (value.parameter && !value.parameter->value)
      value.parameter->value = init_for_product(model_.graph, nodes, result.node);
  return result;
}

bool Interpreter::bind_takes(Frame& frame, const Call& call, std::vector<Value> operands) {
  std::vector<YamlNode> takes;
  if (const YamlNode* t = frame.body.find("takes"); t && !t->is_null())
    takes = t->is_list() ? t->items : std::vector<YamlNode>{*t};
  if (call.target.chosen && operands.size() > takes.size())
    operands.resize(takes.size());
  if (operands.size() != takes.size()) {
    report(Code::model_step, call.head->second.span,
           fmt::format("{} takes {} operand{}, not {}", frame.block.name, takes.size(),
                       takes.size() == 1 ? "" : "s", operands.size()));
    return false;
  }
  for (size_t i = 0; i < takes.size(); ++i)
    define(frame, {takes[i].text, takes[i].span}, std::move(operands[i]), false);
  return true;
}

Value Interpreter::call_block(const Call& call, const Block& block, std::vector<Value> operands,
                              const std::string& path) {
  if (std::find(active_.begin(), active_.end(), block.body) != active_.end())
    return report(Code::model_step, call.head->first.span,
                  fmt::format("{} uses itself", block.name));
  if (!may_grow(call.head->first.span))
    return {};
  active_.push_back(block.body);
  Frame frame{block, {}, path, 0, {}, {}, {}};
  Value result;
  if (open(frame, call.with) && bind_takes(frame, call, std::move(operands))) {
    declare_params(frame);
    run_steps(frame);
    result = gives(frame);
    close(frame);
  }
  dims_.leave();
  active_.pop_back();
  return result;
}

Value Interpreter::gives(Frame& frame) {
  const YamlNode* names = frame.body.find("gives");
  if (!names || !names->is_map())
    return names ? read(frame, *names) : Value{};
  Value result;
  for (const auto& [key, value] : names->entries)
    result.members.emplace(key.text, read(frame, value));
  return result;
}

std::vector<Value> Interpreter::read_operands(Frame& frame, const YamlNode& node) {
  std::vector<Value> operands;
  if (node.is_list())
    for (const YamlNode& item : node.items)
      operands.push_back(read(frame, item));
  else if (!node.is_null())
    operands.push_back(read(frame, node));
  return operands;
}

// `name`, or `step.name` for what a block gives.
Value Interpreter::read(Frame& frame, const YamlNode& node) {
  if (!node.is_scalar())
    return report(Code::model_step, node.span, "an operand is the name of a value");
  std::string_view rest = node.text;
  std::string_view first = rest.substr(0, rest.find('.'));
  rest.remove_prefix(std::min(rest.size(), first.size() + 1));
  auto it = frame.names.find(first);
  if (it == frame.names.end()) {
    if (frame.missing.contains(first))
      return {};
    Help help;
    if (found_.errors() < max_suggestions) {
      std::vector<std::string> known;
      for (const auto& [name, entry] : frame.names)
        known.push_back(name);
      help = suggest(first, node.span, known,
                     known.empty() ? "no value is defined here yet" : there_are(known));
    }
    report(Code::model_unknown_name, node.span,
           fmt::format("nothing called '{}' is defined before this step", first), help);
    it = frame.names.find(help.meant());
    if (it == frame.names.end()) {
      frame.missing.emplace(first);
      return {};
    }
  }
  it->second.read = true;
  const Value& value = it->second.value;
  if (rest.empty() || value.unknown())
    return value;
  if (auto member = value.members.find(rest); member != value.members.end())
    return member->second;
  std::vector<std::string> known;
  for (const auto& [name, member] : value.members)
    known.push_back(fmt::format("{}.{}", first, name));
  return report(Code::model_unknown_name, node.span, fmt::format("'{}' gives no '{}'", first, rest),
                suggest(node.text, node.span, known, known.empty() ? "" : there_are(known)));
}

NodeId Interpreter::node_of(const Value& value, SourceSpan where) {
  if (!value.members.empty())
    report(Code::model_step, where,
           fmt::format("this is a map of results; say which, such as `step.{}`",
                       value.members.begin()->first));
  if (!value.parameter)
    return value.node;
  if (value.parameter->node.index < 0 && !value.parameter->failed)
    make_leaf(*value.parameter);
  return value.parameter->node;
}

}  // namespace mtf
