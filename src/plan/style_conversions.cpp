// Conversions of activations that every copy of a repeat makes anew, by the rules that ask for
// them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "plan/names.h"
#include "plan/style.h"
#include "plan/traffic.h"
#include "plan/uses.h"

namespace mtf {
namespace {

// Why a value split over an axis is converted: its dim `from` is split by a rule; the reader splits
// `to` (index -1: nothing) over that axis by another. With `rest` the reader splits it as its maker
// does, and an override lets it rest in another layout.
struct Cause {
  RuleUse split, wanted;
  const LayoutRules::Override* rest = nullptr;
  DimId from, to, seen;  // seen: what the reader calls `from`
  AxisId axis;
  const Instruction* reader = nullptr;
  std::string tensor;  // "the gradient of layers[*]/attention/q"
};

// What one cause costs, by tensor of the model: the copies that convert it.
struct Cost {
  Cause cause;
  std::string what;                                      // "gather" or "exchange"
  std::map<std::string, std::set<std::string>> tensors;  // "layers[*]/h" -> as they are
  int64_t bytes = 0;
};

bool moves_shards(const Instruction& i) {
  return std::holds_alternative<AllGather>(i.action) || std::holds_alternative<AllToAll>(i.action);
}

class ProgramConversions {
 public:
  ProgramConversions(const StepProgram& step, const LayoutRules& rules)
      : p_(step.program), times_(step.times), rules_(rules), uses_(p_) {
    weight_.resize(p_.values.size());
    for (size_t v = 0; v < p_.values.size(); ++v)
      weight_[v] = uses_.maker[v] < 0 && p_.values[v].storage != Storage::input;
    for (size_t j = 0; j < p_.code.size(); ++j) {
      const Instruction& i = p_.code[j];
      for (ValueId v : i.inputs)
        first_reader_.try_emplace(root(p_, v), j);
      const bool weight =
          std::all_of(i.inputs.begin(), i.inputs.end(), [this](ValueId v) { return is_weight(v); });
      for (ValueId v : i.results) {
        weight_[static_cast<size_t>(v.index)] = weight;
        copies_[folded(p_[v].name)].insert(p_[v].name);
      }
    }
  }

  using Key = std::tuple<const void*, const LayoutRule::Use*, DimId>;

  std::map<Key, Cost> costs() {
    std::map<Key, Cost> out;
    for (const Instruction& i : p_.code) {
      const std::optional<Cause> cause = cause_of(i);
      if (!cause)
        continue;
      Cost& cost = cause->rest ? out[{cause->rest, nullptr, {}}]
                               : out[{cause->split.use, cause->wanted.use, cause->seen}];
      if (cost.tensors.empty()) {
        cost.cause = *cause;
        cost.what = std::holds_alternative<AllToAll>(i.action) ? "exchange" : "gather";
      }
      const std::string& name = p_[i.results[0]].name;
      cost.tensors[folded(name)].insert(name);
      cost.bytes += times_ * traffic(p_, i).bytes;
    }
    std::erase_if(out, [&](const auto& entry) { return !in_every_copy(entry.second); });
    return out;
  }

 private:
  // The first and the last copy may differ from those between.
  bool in_every_copy(const Cost& cost) const {
    return std::any_of(cost.tensors.begin(), cost.tensors.end(), [&](const auto& entry) {
      const size_t all = copies_.at(entry.first).size();
      return entry.second.size() >= 2 && entry.second.size() + 1 >= all;
    });
  }

  std::optional<Cause> cause_of(const Instruction& i) const {
    Cause cause;
    if (const auto* gather = std::get_if<AllGather>(&i.action)) {
      cause.axis = gather->over;
      cause.from = gather->dim;
    } else if (const auto* exchange = std::get_if<AllToAll>(&i.action)) {
      cause.axis = exchange->over;
      cause.from = exchange->concat;
    } else {
      return std::nullopt;
    }
    const ValueId value = i.inputs[0];
    if (i.phase == Phase::update || p_[value].name.find('[') == std::string::npos ||
        is_weight(value) || !find_reader(i, cause))
      return std::nullopt;
    cause.to = IterationSpace(p_, *cause.reader).user_of(cause.axis);
    if (cause.to == cause.seen)
      return cause_of_return(i, cause);
    cause.split = splitter(value, cause.axis);
    if (!cause.split.use || cause.split.use->soft)
      return std::nullopt;
    if (cause.to.index < 0)
      return cause;
    cause.wanted = rule_for(rules_.rules, p_[cause.to], cause.axis);
    const bool meant =
        !cause.wanted.use || cause.wanted.use->soft || cause.wanted.use == cause.split.use;
    return meant ? std::nullopt : std::optional(cause);
  }

  // An axis that comes back to its dim made way for what is moved next. Where nothing is, the value
  // rests elsewhere.
  std::optional<Cause> cause_of_return(const Instruction& i, Cause cause) const {
    const Instruction* next = &i;
    do
      next = &p_.code[first_reader_.at(next->results[0])];
    while (next != cause.reader && !moves_shards(*next));
    if (next != cause.reader)
      return cause_of(*next);
    cause.rest = rules_.override_of(p_[i.results[0]].name);
    return cause.rest && !is_soft(cause.rest->second) ? std::optional(cause) : std::nullopt;
  }

  static bool is_soft(const std::vector<LayoutRule>& rules) {
    bool soft = !rules.empty();
    for (const LayoutRule& rule : rules)
      for (const LayoutRule::Use& use : rule.axes)
        soft = soft && use.soft;
    return soft;
  }

  bool is_weight(ValueId v) const { return weight_[static_cast<size_t>(root(p_, v).index)]; }

  // The rule that splits a value over an axis: one for ops where an op made it, else one for where
  // it rests. What moves data hands on what its operand has.
  RuleUse splitter(ValueId v, AxisId axis) const {
    for (ValueId at = v; at.index >= 0;) {
      const ValueId base = root(p_, at);
      const Value& value = p_[base];
      const int maker = uses_.maker_of(base);
      const Instruction* made = maker < 0 ? nullptr : &p_.code[static_cast<size_t>(maker)];
      const std::vector<LayoutRule>& rules = made && std::holds_alternative<Compute>(made->action)
                                                 ? rules_.rules
                                                 : rules_.for_tensor(value.name);
      at = {};
      for (size_t k = 0; k < value.layout.split.size(); ++k)
        if (std::count(value.layout.split[k].begin(), value.layout.split[k].end(), axis))
          if (const RuleUse by = rule_for(rules, p_[value.type.shape.dims[k]], axis); by.use)
            return by;
      if (!made)
        break;
      for (ValueId in : made->inputs)
        if (splits(p_[root(p_, in)], axis))
          at = in;
    }
    return {};
  }

  static bool splits(const Value& v, AxisId axis) {
    return std::any_of(v.layout.split.begin(), v.layout.split.end(), [axis](const AxisList& axes) {
      return std::count(axes.begin(), axes.end(), axis) > 0;
    });
  }

  // The first op behind the conversions of a value. False if it is none, or one that adds up
  // gradients of parameters.
  bool find_reader(const Instruction& conversion, Cause& cause) const {
    const Instruction* at = &conversion;
    while (!std::holds_alternative<Compute>(at->action)) {
      const auto it = first_reader_.find(at->results[0]);
      if (it == first_reader_.end())
        return false;
      at = &p_.code[it->second];
    }
    cause.reader = at;
    for (ValueId in : at->inputs)
      if (p_[root(p_, in)].storage == Storage::gradient)
        return false;
    const ValueId base = root(p_, conversion.inputs[0]);
    const int maker = uses_.maker_of(origin_of(base));
    const bool gradient =
        maker >= 0 && p_.code[static_cast<size_t>(maker)].phase == Phase::backward;
    cause.tensor = (gradient ? "the gradient of " : "") + folded(p_[base].name);
    const int position = p_[base].type.shape.find(cause.from);
    for (ValueId in : at->inputs)
      if (origin_of(root(p_, in)) == origin_of(base))
        cause.seen = p_[in].type.shape.dims[static_cast<size_t>(position)];
    return cause.seen.index >= 0;
  }

  // The value that conversions made this one of.
  ValueId origin_of(ValueId v) const {
    for (int m = uses_.maker_of(v); m >= 0; m = uses_.maker_of(v)) {
      const Instruction& maker = p_.code[static_cast<size_t>(m)];
      if (std::holds_alternative<Compute>(maker.action))
        break;
      v = root(p_, maker.inputs[0]);
    }
    return v;
  }

  const Program& p_;
  int64_t times_;
  const LayoutRules& rules_;
  Uses uses_;
  std::vector<char> weight_;  // made of parameters and state alone, such as a cast of one
  std::map<ValueId, size_t> first_reader_;
  std::map<std::string, std::set<std::string>> copies_;
};

size_t copies_of(const Cost& cost) {
  size_t copies = 0;
  for (const auto& [folded, all] : cost.tensors)
    copies = std::max(copies, all.size());
  return copies;
}

std::string tensors_of(const Cost& cost) {
  const size_t more = cost.tensors.size() - 1;
  return cost.cause.tensor + (more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string reader_of(const Cause& c) {
  return folded(c.reader->origin.scope) + (c.reader->phase == Phase::backward ? " backward" : "");
}

// A value that rests in a layout of its own.
Diagnostic said_of_rest(const Program& p, const Spec& spec, const Cost& cost) {
  const Cause& c = cost.cause;
  const std::string& pattern = c.rest->first;
  std::string help = fmt::format("leave the pattern '{}' out, or make it narrower", pattern);
  if (!c.rest->second.empty())
    help += "; to have it so, make its rules soft";
  return {Code::layout_repeated_conversion,
          fmt::format("each of {} copies converts {} to rest as '{}' says, and back: {} bytes ({}) "
                      "a step and device",
                      copies_of(cost), tensors_of(cost), pattern, with_commas(cost.bytes),
                      in_bytes(cost.bytes)),
          spec.span("layout.tensors." + pattern),
          {{c.reader->origin.span,
            fmt::format("{} reads it with '{}' split over '{}', as it was made", reader_of(c),
                        p[c.seen].name, p.mesh.axes[static_cast<size_t>(c.axis.index)].name)}},
          help};
}

Diagnostic said(const Program& p, const Spec& spec, const Cost& cost) {
  const Cause& c = cost.cause;
  if (c.rest)
    return said_of_rest(p, spec, cost);
  const std::string& axis = p.mesh.axes[static_cast<size_t>(c.axis.index)].name;
  const std::string &from = p[c.from].name, &seen = p[c.seen].name;
  const std::string reader = reader_of(c);
  Diagnostic d{Code::layout_repeated_conversion,
               fmt::format("each of {} copies {}s '{}' of {} over '{}' anew: {} bytes ({}) a step "
                           "and device",
                           copies_of(cost), cost.what, from, tensors_of(cost), axis,
                           with_commas(cost.bytes), in_bytes(cost.bytes)),
               c.split.rule->span,
               {},
               {}};
  const std::string keep = fmt::format("to have it so, make the rule soft: `{}`",
                                       softened(*c.split.rule, c.axis, p.mesh));
  const bool whole = rule_for(spec.layout.rules, p[c.seen], c.axis).use != nullptr;
  if (c.to.index >= 0) {
    d.notes = {{c.wanted.use->span,
                fmt::format("'{}' splits '{}' here, in {}", axis, p[c.to].name, reader)},
               {c.reader->origin.span, fmt::format("{} reads it", reader)}};
    d.help = fmt::format("split '{}' and '{}' over different axes; {}", from, p[c.to].name, keep);
  } else if (whole) {
    d.notes = {{c.reader->origin.span, fmt::format("{} needs all of '{}'", reader, seen)}};
    d.help = fmt::format("split another dim over '{}'; {}", axis, keep);
  } else {
    d.notes = {{c.reader->origin.span,
                fmt::format("{} reads it along '{}', which no rule splits over '{}'", reader, seen,
                            axis)}};
    d.help = fmt::format("give '{}' the axis too: `{}: {}`; {}", seen, p[c.seen].rule, axis, keep);
  }
  return d;
}

}  // namespace

void check_conversions(std::span<const StepProgram> step, const Spec& spec,
                       Diagnostics& diagnostics) {
  for (const StepProgram& s : step) {
    const std::vector<Instruction>& code = s.program.code;
    if (std::none_of(code.begin(), code.end(), moves_shards))
      continue;
    for (const auto& [key, cost] : ProgramConversions(s, spec.layout).costs())
      diagnostics.add(said(s.program, spec, cost));
  }
}

}  // namespace mtf
