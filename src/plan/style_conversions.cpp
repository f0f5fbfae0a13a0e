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
// `to` (index -1: nothing) over that axis by another.
struct Cause {
  RuleUse split, wanted;
  DimId from, to, seen;  // seen: what the reader calls `from`
  AxisId axis;
  const Instruction* reader = nullptr;
};

// What one cause costs, by step of the model: the copies that convert there.
struct Cost {
  Cause cause;
  std::string what;                                     // "gather" or "exchange"
  std::map<std::string, std::set<std::string>> scopes;  // folded -> as they are
  int64_t bytes = 0;
};

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
      for (ValueId v : i.results)
        weight_[static_cast<size_t>(v.index)] = weight;
      copies_[folded(i.origin.scope)].insert(i.origin.scope);
    }
  }

  using Key = std::tuple<const LayoutRule::Use*, const LayoutRule::Use*, DimId>;

  std::map<Key, Cost> costs() {
    std::map<Key, Cost> out;
    for (const Instruction& i : p_.code) {
      const std::optional<Cause> cause = cause_of(i);
      if (!cause)
        continue;
      Cost& cost = out[{cause->split.use, cause->wanted.use, cause->seen}];
      if (cost.scopes.empty()) {
        cost.cause = *cause;
        cost.what = std::holds_alternative<AllToAll>(i.action) ? "exchange" : "gather";
      }
      cost.scopes[folded(i.origin.scope)].insert(i.origin.scope);
      cost.bytes += times_ * traffic(p_, i).bytes;
    }
    std::erase_if(out, [&](const auto& entry) { return !in_every_copy(entry.second); });
    return out;
  }

 private:
  // The first and the last copy may differ from those between.
  bool in_every_copy(const Cost& cost) const {
    return std::any_of(cost.scopes.begin(), cost.scopes.end(), [&](const auto& entry) {
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
    if (i.phase == Phase::update || i.origin.scope.find('[') == std::string::npos ||
        is_weight(value))
      return std::nullopt;
    cause.split = splitter(value, cause.axis);
    if (!cause.split.use || cause.split.use->soft || !find_reader(i, cause))
      return std::nullopt;
    const IterationSpace space(p_, *cause.reader);
    cause.to = space.user_of(cause.axis);
    if (cause.to.index < 0)
      return cause;
    cause.wanted = rule_for(rules_, cause.reader->origin.scope, p_[cause.to], cause.axis);
    const bool meant =
        !cause.wanted.use || cause.wanted.use->soft || cause.wanted.use == cause.split.use;
    return meant ? std::nullopt : std::optional(cause);
  }

  bool is_weight(ValueId v) const { return weight_[static_cast<size_t>(root(p_, v).index)]; }

  // The rule that splits a value over an axis; ops that move data hand on what their operand has.
  RuleUse splitter(ValueId v, AxisId axis) const {
    for (ValueId at = v; at.index >= 0;) {
      const ValueId base = root(p_, at);
      const Value& value = p_[base];
      const int maker = uses_.maker_of(base);
      const std::string& path =
          maker < 0 ? value.name : p_.code[static_cast<size_t>(maker)].origin.scope;
      at = {};
      for (size_t k = 0; k < value.layout.split.size(); ++k)
        if (std::count(value.layout.split[k].begin(), value.layout.split[k].end(), axis))
          if (const RuleUse by = rule_for(rules_, path, p_[value.type.shape.dims[k]], axis); by.use)
            return by;
      if (maker < 0)
        break;
      for (ValueId in : p_.code[static_cast<size_t>(maker)].inputs)
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

bool moves_shards(const Instruction& i) {
  return std::holds_alternative<AllGather>(i.action) || std::holds_alternative<AllToAll>(i.action);
}

Diagnostic said(const Program& p, const LayoutRules& rules, const Cost& cost) {
  const Cause& c = cost.cause;
  const std::string& axis = p.mesh.axes[static_cast<size_t>(c.axis.index)].name;
  const std::string &from = p[c.from].name, &seen = p[c.seen].name;
  const std::string reader = folded(c.reader->origin.scope);
  size_t copies = 0;
  for (const auto& [scope, all] : cost.scopes)
    copies = std::max(copies, all.size());
  const std::string& split = c.split.rule->dim;
  Diagnostic d{Code::layout_repeated_conversion,
               fmt::format("each of {} copies {}s '{}' of {} over '{}' anew: {} bytes ({}) a step "
                           "and device",
                           copies, cost.what, from, cost.scopes.begin()->first, axis,
                           with_commas(cost.bytes), in_bytes(cost.bytes)),
               c.split.rule->span,
               {},
               {}};
  const std::string keep = fmt::format("to have it so, make the rule soft: `{}: {}?`", split, axis);
  const bool whole = rule_for(rules, c.reader->origin.scope, p[c.seen], c.axis).use != nullptr;
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

void check_conversions(std::span<const StepProgram> step, const LayoutRules& rules,
                       Diagnostics& diagnostics) {
  for (const StepProgram& s : step) {
    const std::vector<Instruction>& code = s.program.code;
    if (std::none_of(code.begin(), code.end(), moves_shards))
      continue;
    for (const auto& [key, cost] : ProgramConversions(s, rules).costs())
      diagnostics.add(said(s.program, rules, cost));
  }
}

}  // namespace mtf
