// Repeats of a block, and how large a model may become.
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "model/interpreter.h"
#include "spec/scalars.h"

namespace mtf {

std::optional<int64_t> Interpreter::read_times(Frame& frame, const Call& call) {
  for (const Entry* attribute : call.attributes) {
    if (attribute->first.text != "times")
      continue;
    const YamlNode& times = attribute->second;
    if (times.is_scalar() && is_name(times.text)) {
      const std::optional<int64_t> size = dims_.size(times.text, times.span, frame.depth);
      model_.graph.repeats.push_back({times.text, size.value_or(0), times.span});
      return size;
    }
    return read_integer(times, "times", at_least(1), found_);
  }
  report(Code::spec_missing_key, call.head->first.span,
         "repeat has the form {repeat: block, times: n, from: x}");
  return std::nullopt;
}

// Steps and blocks count as ops do, so that blocks of nothing but blocks come to an end too.
size_t Interpreter::size() const {
  return model_.graph.nodes.size() + entered_;
}

bool Interpreter::may_grow(SourceSpan where) {
  ++entered_;
  if (size() > max_model_size && !std::exchange(too_large_, true))
    report(Code::spec_range, where,
           fmt::format("the model grows beyond {} ops and steps here, copies included",
                       with_commas(max_model_size)));
  return !too_large_;
}

bool Interpreter::copies_fit(const YamlNode& block, int64_t times, size_t each) {
  const int64_t most = static_cast<int64_t>(max_model_size / each);
  if (times <= most)
    return true;
  report(Code::spec_range, block.span,
         fmt::format("{} copies of '{}', of {} ops and steps each, are too many: a model has at "
                     "most {}",
                     with_commas(times), block.text, each, with_commas(max_model_size)),
         fmt::format("at most {} copies fit", with_commas(most)));
  return false;
}

Value Interpreter::apply_repeat(Frame& frame, const Call& call) {
  const YamlNode& name = call.head->second;
  std::optional<int64_t> times = read_times(frame, call);
  std::vector<Value> operands;
  for (const Entry* attribute : call.attributes) {
    const auto& [key, value] = *attribute;
    if (key.text == "from")
      operands = read_operands(frame, value);
    else if (key.text != "times")
      report(Code::model_attribute, key.span, fmt::format("repeat has no attribute '{}'", key.text),
             "its attributes are times, from and with");
  }
  Target target = find_target(frame, name.text, name.span);
  if (target.kind == Target::Kind::none)
    target = report_unknown_op(frame, {name.text, name.span});
  if (target.kind != Target::Kind::block) {
    if (target.kind != Target::Kind::none && target.kind != Target::Kind::reported)
      report(Code::model_step, name.span,
             fmt::format("repeat takes a block; '{}' is none", name.text));
    return {};
  }
  if (operands.empty())
    return report(Code::model_step, call.head->first.span,
                  "repeat needs `from:`, the value it starts with");
  const size_t before = size();
  for (int64_t i = 0; times && i < *times; ++i) {
    if (i == 1 && !copies_fit(name, *times, size() - before))
      return {};
    Call copy = call;
    copy.target = target;
    operands[0] = call_block(copy, *target.block, operands, fmt::format("{}[{}]", call.path, i));
    if (!operands[0].members.empty())
      return report(
          Code::model_step, name.span,
          fmt::format("{} gives a map of results, so it cannot be repeated", target.block->name));
    if (operands[0].unknown())
      return {};
  }
  return times ? operands[0] : Value{};
}

}  // namespace mtf
