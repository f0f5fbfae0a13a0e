// Greedy placement by size: the largest value first, each at the lowest offset that is free for its
// whole lifetime.
#include "plan/memory.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "plan/uses.h"

namespace mtf {
namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

Storage storage_named(std::string_view name) {
  if (name.starts_with("parameter:"))
    return Storage::parameter;
  if (name.starts_with("gradient:"))
    return Storage::gradient;
  if (name.starts_with("state:"))
    return Storage::state;
  return name.starts_with("cache:") ? Storage::cache : Storage::output;
}

bool persistent(Storage s) {
  return s == Storage::parameter || s == Storage::gradient || s == Storage::state ||
         s == Storage::cache;
}

// When each value is made and last read: -1 is before the first instruction.
struct Lifetimes {
  explicit Lifetimes(const Program& p) : made(p.values.size(), -2), last(p.values.size(), -2) {
    for (const Program::Binding& b : p.inputs)
      made[at(b.value)] = -1;
    const int end = static_cast<int>(p.code.size());
    for (int i = 0; i < end; ++i) {
      for (ValueId v : p.code[static_cast<size_t>(i)].inputs)
        last[at(root(p, v))] = i;
      for (ValueId v : p.code[static_cast<size_t>(i)].results)
        made[at(v)] = i;
    }
    for (size_t v = 0; v < made.size(); ++v)
      last[v] = std::max(last[v], made[v]);
    for (const Program::Binding& b : p.outputs)
      last[at(root(p, b.value))] = end;
  }
  static size_t at(ValueId v) { return static_cast<size_t>(v.index); }
  std::vector<int> made, last;
};

// Can `result` take over the bytes of `operand` element by element?
bool same_bytes(const Program& p, ValueId operand, ValueId result) {
  const Value& a = p[operand];
  const Value& b = p[result];
  return a.type.shape.dims == b.type.shape.dims && a.local_sizes == b.local_sizes &&
         a.type.dtype == b.type.dtype;
}

// May a result be written over this operand while the instruction runs? Not if the operand is read
// under another name too, in another order.
bool overwrites(const Program& p, const Instruction& i, ValueId operand) {
  for (ValueId other : i.inputs)
    if (other != operand && root(p, other) == root(p, operand))
      return false;
  const auto* c = std::get_if<Compute>(&i.action);
  return c ? c->in_place : std::holds_alternative<AllReduce>(i.action);
}

// May the result v be written over the persistent value `old`?
bool may_replace(const Program& p, const Lifetimes& life, ValueId v, ValueId old) {
  const int made = life.made[Lifetimes::at(v)], read = life.last[Lifetimes::at(old)];
  if (made < 0 || read > made)
    return false;
  return read < made ||
         (overwrites(p, p.code[static_cast<size_t>(made)], old) && same_bytes(p, old, v));
}

ValueId append_copy(Program& p, ValueId from, Storage storage) {
  Value v = p[from];
  v.storage = storage;
  v.alias_of = {};
  p.values.push_back(v);
  const ValueId made{static_cast<int32_t>(p.values.size()) - 1};
  Compute copy;
  copy.call.kernel = "map";
  copy.call.body.results = {0};
  copy.label = "copy";
  p.code.push_back({copy, {from}, {made}, {{}, v.name}, Phase::update, 0, 0});
  return made;
}

struct Slot {
  std::vector<ValueId> values;  // share the bytes, one after the other
  int staging_of = -1;
  int first = 0, last = 0;
  int64_t bytes = 0, offset = -1;
};

class Placement {
 public:
  Placement(const Program& p, MemoryPlan& plan) : p_(p), plan_(plan), life_(p) {}

  void run() {
    make_slots();
    measure_peak();
    std::vector<size_t> order(slots_.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return slots_[a].bytes > slots_[b].bytes; });
    std::vector<const Slot*> placed;  // by offset
    for (size_t s : order)
      place(slots_[s], placed);
    for (const Slot& slot : slots_) {
      for (ValueId v : slot.values)
        plan_.place[Lifetimes::at(v)] = {MemoryPlan::Segment::arena, slot.offset};
      if (slot.staging_of >= 0)
        plan_.staging[static_cast<size_t>(slot.staging_of)] = slot.offset;
    }
  }

 private:
  void make_slots() {
    std::vector<int> slot_of(p_.values.size(), -1);
    for (size_t i = 0; i < p_.code.size(); ++i) {
      const Instruction& instruction = p_.code[i];
      const int now = static_cast<int>(i);
      std::set<int> taken;
      for (ValueId v : instruction.results)
        if (p_[v].storage == Storage::temporary)
          slot_of[Lifetimes::at(v)] = slot_for(instruction, v, now, slot_of, taken);
      if (const int64_t bytes = staging_bytes(p_, instruction); bytes > 0)
        slots_.push_back({{}, now, now, now, aligned(bytes), -1});
    }
  }

  int slot_for(const Instruction& i, ValueId v, int now, const std::vector<int>& slot_of,
               std::set<int>& taken) {
    for (ValueId in : i.inputs) {
      const int s = slot_of[Lifetimes::at(root(p_, in))];
      const bool dies = s >= 0 && life_.last[Lifetimes::at(root(p_, in))] == now;
      if (dies && overwrites(p_, i, in) && same_bytes(p_, in, v) && taken.insert(s).second) {
        slots_[static_cast<size_t>(s)].values.push_back(v);
        slots_[static_cast<size_t>(s)].last = life_.last[Lifetimes::at(v)];
        return s;
      }
    }
    slots_.push_back(
        {{v}, -1, now, life_.last[Lifetimes::at(v)], aligned(p_[v].local_bytes()), -1});
    return static_cast<int>(slots_.size()) - 1;
  }

  void measure_peak() {
    std::vector<int64_t> change(p_.code.size() + 2, 0);
    for (const Slot& s : slots_) {
      change[static_cast<size_t>(s.first)] += s.bytes;
      change[static_cast<size_t>(s.last) + 1] -= s.bytes;
    }
    int64_t live = 0;
    for (size_t i = 0; i < p_.code.size(); ++i) {
      live += change[i];
      if (live > plan_.peak_live_bytes) {
        plan_.peak_live_bytes = live;
        plan_.peak_at = static_cast<int>(i);
      }
    }
  }

  void place(Slot& slot, std::vector<const Slot*>& placed) {
    int64_t offset = 0;
    for (const Slot* other : placed) {
      if (other->last < slot.first || other->first > slot.last)
        continue;
      if (offset + slot.bytes <= other->offset)
        break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    slot.offset = offset;
    plan_.arena_bytes = std::max(plan_.arena_bytes, offset + slot.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &slot,
                         [](const Slot* a, const Slot* b) { return a->offset < b->offset; }),
        &slot);
  }

  const Program& p_;
  MemoryPlan& plan_;
  Lifetimes life_;
  std::vector<Slot> slots_;
};

}  // namespace

int64_t Resident::bytes_of(Storage storage) const {
  int64_t sum = 0;
  for (const Persistent& p : list)
    if (p.value.storage == storage)
      sum += p.value.local_bytes();
  return sum;
}

const Persistent* Resident::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &list[it->second];
}

void Resident::add(std::string name, const Value& value) {
  by_name_.emplace(name, list.size());
  list.push_back({std::move(name), value, bytes});
  bytes += aligned(value.local_bytes());
}

void bind_outputs(Program& p) {
  const Lifetimes life(p);
  std::map<std::string, ValueId, std::less<>> old;
  for (const Program::Binding& b : p.inputs)
    old.emplace(b.name, b.value);
  for (Program::Binding& output : p.outputs) {
    const ValueId v = root(p, output.value);
    const Storage storage = storage_named(output.name);
    const auto it = old.find(output.name);
    if (it != old.end() && it->second == v)
      continue;  // unchanged
    const bool fresh = p[v].storage == Storage::temporary && life.made[Lifetimes::at(v)] >= 0;
    if (fresh && (it == old.end() || may_replace(p, life, v, it->second)))
      p[v].storage = storage;
    else
      output.value = append_copy(p, output.value, storage);
  }
}

void collect_resident(const Program& p, Resident& resident) {
  auto add = [&](const Program::Binding& b) {
    const Value& v = p[root(p, b.value)];
    if (!persistent(v.storage))
      return;
    if (const Persistent* known = resident.find(b.name)) {
      CHECK(known->value.layout == v.layout && known->value.local_bytes() == v.local_bytes(),
            b.name);
      return;
    }
    resident.add(b.name, v);
  };
  std::set<std::string_view> bound;
  for (const Program::Binding& b : p.inputs) {
    CHECK(!persistent(p[root(p, b.value)].storage) || bound.insert(b.name).second, b.name);
    add(b);
  }
  for (const Program::Binding& b : p.outputs)
    add(b);
}

int64_t staging_bytes(const Program& p, const Instruction& i) {
  if (std::holds_alternative<Compute>(i.action) || std::holds_alternative<Slice>(i.action))
    return 0;
  int64_t in = 0, out = 0;
  for (ValueId v : i.inputs)
    in += p[v].local_bytes();
  for (ValueId v : i.results)
    out += p[v].local_bytes();
  if (const auto* a = std::get_if<AllReduce>(&i.action)) {
    const int64_t packed = i.inputs.size() > 1 ? in : 0;
    return packed + (a->algorithm == Algorithm::gather ? in * p.mesh.size(a->over) : in);
  }
  if (const auto* r = std::get_if<ReduceScatter>(&i.action))  // packed operand, and room to receive
    return in + (r->algorithm == Algorithm::gather ? in * p.mesh.size(r->over) : in);
  if (std::holds_alternative<AllGather>(i.action))
    return out;
  return in + out;  // AllToAll: both sides packed; Shift: at most that
}

MemoryPlan plan_memory(const Program& p, const Resident& resident) {
  MemoryPlan plan;
  plan.place.resize(p.values.size());
  plan.staging.assign(p.code.size(), -1);
  Placement(p, plan).run();
  int64_t io = 0;
  auto bind = [&](const Program::Binding& b, int64_t& counted) {
    const ValueId v = root(p, b.value);
    MemoryPlan::Place& place = plan.place[static_cast<size_t>(v.index)];
    if (persistent(p[v].storage)) {
      place = {MemoryPlan::Segment::resident, resident.find(b.name)->offset};
    } else if (place.offset < 0 || place.segment != MemoryPlan::Segment::io) {
      place = {MemoryPlan::Segment::io, io};
      counted += aligned(p[v].local_bytes());
      io += aligned(p[v].local_bytes());
    }
  };
  for (const Program::Binding& b : p.inputs)
    bind(b, plan.input_bytes);
  for (const Program::Binding& b : p.outputs)
    bind(b, plan.output_bytes);
  for (size_t i = 0; i < p.values.size(); ++i) {
    const ValueId base = root(p, {static_cast<int32_t>(i)});
    plan.place[i] = plan.place[static_cast<size_t>(base.index)];
  }
  return plan;
}

}  // namespace mtf
