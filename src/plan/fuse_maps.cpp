#include "plan/fuse_maps.h"

#include <algorithm>
#include <map>
#include <set>

#include "plan/uses.h"

namespace mtf {
namespace {

constexpr size_t most_steps = 48;  // of one body: its registers stay in the L1 cache
constexpr size_t most_operands = 24;
constexpr size_t most_members = 16;  // each may leave a result, and a map kernel has at most 16
constexpr size_t reach = 24;         // instructions a map may wait for others to join

// Joins bodies. While building, register r >= 0 is step r and register r < 0 is operand ~r.
class Joiner {
 public:
  void append(const Instruction& instruction) {
    const Body& body = std::get<Compute>(instruction.action).call.body;
    const size_t operands = instruction.inputs.size();
    std::vector<int> made;
    auto remap = [&](int r) {
      if (r < 0)
        return 0;
      const auto i = static_cast<size_t>(r);
      return i < operands ? operand(instruction.inputs[i]) : made[i - operands];
    };
    for (BodyStep step : body.steps) {
      step.a = remap(step.a);
      step.b = remap(step.b);
      step.c = remap(step.c);
      made.push_back(static_cast<int>(steps_.size()));
      steps_.push_back(step);
      arity_.push_back(arity(step.op));
    }
    for (size_t i = 0; i < body.results.size(); ++i)
      last_.push_back(remap(body.results[i]));
    const size_t first = last_.size() - body.results.size();
    for (size_t i = 0; i < instruction.results.size(); ++i)
      made_[instruction.results[i]] = last_[first + i];
  }

  bool makes(ValueId v) const { return made_.count(v) > 0; }
  bool reads(ValueId v) const { return std::count(operands_.begin(), operands_.end(), v) > 0; }
  const std::vector<ValueId>& operands() const { return operands_; }
  size_t steps() const { return steps_.size(); }
  int register_of(ValueId v) const { return made_.at(v); }
  int last() const { return last_.back(); }

  Body finish(const std::vector<int>& results) const {
    const int n = static_cast<int>(operands_.size());
    auto final = [n](int r) { return r < 0 ? ~r : n + r; };
    Body body{steps_, {}};
    for (size_t i = 0; i < body.steps.size(); ++i) {
      BodyStep& s = body.steps[i];
      s.a = arity_[i] > 0 ? final(s.a) : -1;
      s.b = arity_[i] > 1 ? final(s.b) : -1;
      s.c = arity_[i] > 2 ? final(s.c) : -1;
    }
    for (int r : results)
      body.results.push_back(final(r));
    return body;
  }

 private:
  static int arity(Scalar op) {
    static constexpr int table[] = {
#define MTF_SCALAR(name, arity) arity,
#include "scalar_ops.def"
#undef MTF_SCALAR
    };
    return table[static_cast<size_t>(op)];
  }

  int operand(ValueId v) {
    if (auto it = made_.find(v); it != made_.end())
      return it->second;
    const auto at = std::find(operands_.begin(), operands_.end(), v);
    const auto i = static_cast<int>(at - operands_.begin());
    if (at == operands_.end())
      operands_.push_back(v);
    return ~i;
  }

  std::vector<ValueId> operands_;
  std::vector<BodyStep> steps_;
  std::vector<int> arity_, last_;
  std::map<ValueId, int> made_;
};

std::string joined(const std::string& a, const std::string& b) {
  if (a.size() > 60)
    return a.ends_with("...") ? a : a + "+...";
  return a + "+" + b;
}

std::set<DimId> dims_of(const Program& p, const std::vector<ValueId>& values) {
  std::set<DimId> out;
  for (ValueId v : values)
    out.insert(p[v].type.shape.dims.begin(), p[v].type.shape.dims.end());
  return out;
}

// ---- maps into the reduce that reads them ------------------------------------------------------

bool absorb(Program& p, const Uses& uses, Instruction& reduce, std::vector<char>& dead) {
  for (ValueId v : reduce.inputs) {
    const int at = uses.maker_of(v);
    if (at < 0 || dead[static_cast<size_t>(at)] || !uses.read_once(v))
      continue;
    Instruction& map = p.code[static_cast<size_t>(at)];
    if (!is(map, "map") || map.results.size() != 1)
      continue;
    Joiner joiner;
    joiner.append(map);
    joiner.append(reduce);
    if (joiner.steps() > most_steps || joiner.operands().size() > most_operands ||
        dims_of(p, joiner.operands()) != dims_of(p, reduce.inputs))
      continue;
    Compute& c = *compute(reduce);
    c.call.body = joiner.finish({joiner.last()});
    c.label = joined(compute(map)->label, c.label);
    reduce.inputs = joiner.operands();
    reduce.flops += map.flops;
    reduce.unique_flops += map.unique_flops;
    dead[static_cast<size_t>(at)] = 1;
    return true;
  }
  return false;
}

void absorb_into_reduces(Program& p) {
  const Uses uses(p);
  std::vector<char> dead(p.code.size(), 0);
  for (Instruction& i : p.code)
    if (is(i, "reduce"))
      while (absorb(p, uses, i, dead)) {
      }
  remove(p, dead);
}

// ---- maps with maps ----------------------------------------------------------------------------

struct Cluster {
  std::vector<size_t> members;
  Joiner joiner;
};

class Clusters {
 public:
  explicit Clusters(Program& p) : p_(p), uses_(p) {}

  void run() {
    for (size_t i = 0; i < p_.code.size(); ++i) {
      Instruction& instruction = p_.code[i];
      const size_t joins = is(instruction, "map") ? home_of(instruction, i) : none;
      close_if(
          [&](size_t c) {
            return (c != joins && reads_from(instruction, open_[c])) ||
                   open_[c].members.back() + reach < i;
          },
          joins);
      if (!is(instruction, "map")) {
        out_.push_back(std::move(instruction));
        continue;
      }
      if (joining_ == none)
        joining_ = start();
      open_[joining_].members.push_back(i);
      open_[joining_].joiner.append(instruction);
    }
    close_if([](size_t) { return true; }, none);
    p_.code = std::move(out_);
  }

 private:
  static constexpr size_t none = SIZE_MAX;

  size_t start() {
    open_.emplace_back();
    return open_.size() - 1;
  }

  // The open cluster that the map at position i may join, or none.
  size_t home_of(const Instruction& map, size_t i) {
    for (size_t c = open_.size(); c-- > 0;)
      if (fits(map, open_[c]) && open_[c].members.back() + reach >= i)
        return c;
    return none;
  }

  bool fits(const Instruction& map, const Cluster& cluster) const {
    const Instruction& first = p_.code[cluster.members[0]];
    const Value& a = p_[first.results[0]];
    const Value& b = p_[map.results[0]];
    const bool same_space =
        a.type.shape.dims == b.type.shape.dims && a.layout == b.layout && first.phase == map.phase;
    const bool related = std::any_of(map.inputs.begin(), map.inputs.end(), [&](ValueId v) {
      return cluster.joiner.makes(v) || (cluster.joiner.reads(v) && !p_[v].type.shape.dims.empty());
    });
    return same_space && related && cluster.joiner.steps() < most_steps &&
           cluster.members.size() < most_members &&
           cluster.joiner.operands().size() + map.inputs.size() <= most_operands &&
           !reads_renamed(map, cluster);
  }

  bool reads_renamed(const Instruction& map, const Cluster& cluster) const {
    return std::any_of(map.inputs.begin(), map.inputs.end(), [&](ValueId v) {
      return p_[v].alias_of.index >= 0 && cluster.joiner.makes(root(p_, v));
    });
  }

  bool reads_from(const Instruction& i, const Cluster& cluster) const {
    return std::any_of(i.inputs.begin(), i.inputs.end(), [&](ValueId v) {
      return cluster.joiner.makes(v) || cluster.joiner.makes(root(p_, v));
    });
  }

  // Emits the open clusters for which `last` holds; keeps track of where `joins` went.
  template <class F>
  void close_if(F last, size_t joins) {
    std::vector<Cluster> still;
    joining_ = none;
    for (size_t c = 0; c < open_.size(); ++c) {
      if (last(c)) {
        emit(open_[c]);
        continue;
      }
      if (c == joins)
        joining_ = still.size();
      still.push_back(std::move(open_[c]));
    }
    open_ = std::move(still);
  }

  void emit(Cluster& cluster) {
    Instruction joined_map = std::move(p_.code[cluster.members[0]]);
    std::map<ValueId, int> inside;  // reads by other members
    std::vector<ValueId> results = joined_map.results;
    for (size_t k = 1; k < cluster.members.size(); ++k) {
      Instruction& m = p_.code[cluster.members[k]];
      results.insert(results.end(), m.results.begin(), m.results.end());
      compute(joined_map)->label = joined(compute(joined_map)->label, compute(m)->label);
      joined_map.flops += m.flops;
      joined_map.unique_flops += m.unique_flops;
      joined_map.origin = m.origin;
      for (ValueId v : m.inputs)
        ++inside[v];
    }
    joined_map.results.clear();
    std::vector<int> registers;
    for (ValueId v : results)
      if (uses_.readers[static_cast<size_t>(v.index)] > inside[v]) {
        joined_map.results.push_back(v);
        registers.push_back(cluster.joiner.register_of(v));
      }
    joined_map.inputs = cluster.joiner.operands();
    compute(joined_map)->call.body = cluster.joiner.finish(registers);
    out_.push_back(std::move(joined_map));
  }

  Program& p_;
  Uses uses_;
  std::vector<Cluster> open_;
  std::vector<Instruction> out_;
  size_t joining_ = none;
};

}  // namespace

void fuse_maps(Program& p) {
  absorb_into_reduces(p);
  Clusters(p).run();
}

}  // namespace mtf
