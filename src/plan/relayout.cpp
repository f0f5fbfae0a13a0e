// Dijkstra over the few layouts between `from` and `to`. A dim's axes may only be appended at and
// taken from the minor end, so a state is useful when each dim's axes are a prefix of the goal's.
#include "plan/relayout.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "base/check.h"
#include "plan/traffic.h"

namespace mtf {
namespace {

using Cost = std::tuple<int64_t, int64_t, int64_t>;  // bytes, messages, instructions

bool is_prefix(const AxisList& a, const AxisList& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

AxisList appended(AxisList list, const AxisList& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

class Search {
 public:
  Search(const Program& program, const Type& type, Reduction reduction, const Layout& goal)
      : program_(program), type_(type), reduction_(reduction), goal_(goal) {}

  std::vector<Action> run(const Layout& start) {
    using Entry = std::tuple<Cost, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    reach(start, {}, -1, Slice{}, queue);
    while (!queue.empty()) {
      auto [cost, at] = queue.top();
      queue.pop();
      if (cost > states_[static_cast<size_t>(at)].cost)
        continue;
      const Layout layout = states_[static_cast<size_t>(at)].layout;
      if (layout == goal_)
        return path_to(at);
      for (const Action& action : moves(layout))
        reach(apply(action, type_.shape, layout), sum(cost, cost_of(action, layout)), at, action,
              queue);
    }
    CHECK(false, "no conversion between two layouts");
  }

 private:
  struct State {
    Layout layout;
    Cost cost;
    int from;
    Action action;
  };

  static Cost sum(const Cost& a, const Cost& b) {
    return {std::get<0>(a) + std::get<0>(b), std::get<1>(a) + std::get<1>(b),
            std::get<2>(a) + std::get<2>(b)};
  }

  template <class Queue>
  void reach(Layout layout, Cost cost, int from, Action action, Queue& queue) {
    std::vector<int8_t> key = key_of(layout);
    auto [it, fresh] = index_.try_emplace(key, static_cast<int>(states_.size()));
    const auto at = static_cast<size_t>(it->second);
    if (fresh)
      states_.push_back({std::move(layout), cost, from, std::move(action)});
    else if (cost < states_[at].cost)
      states_[at] = {std::move(layout), cost, from, std::move(action)};
    else
      return;
    queue.push({cost, it->second});
  }

  static std::vector<int8_t> key_of(const Layout& layout) {
    std::vector<int8_t> key;
    for (const AxisList& axes : layout.split) {
      for (AxisId a : axes)
        key.push_back(a.index);
      key.push_back(-1);
    }
    for (AxisId a : layout.partial)
      key.push_back(a.index);
    return key;
  }

  std::vector<Action> path_to(int at) const {
    std::vector<Action> path;
    for (; states_[static_cast<size_t>(at)].from >= 0; at = states_[static_cast<size_t>(at)].from)
      path.push_back(states_[static_cast<size_t>(at)].action);
    std::reverse(path.begin(), path.end());
    return path;
  }

  int64_t bytes(const Layout& layout) const {
    int64_t n = size_of(type_.dtype);
    for (int64_t size : local_sizes(program_, type_.shape, layout))
      n *= size;
    return n;
  }

  Cost cost_of(const Action& action, const Layout& before) const {
    Program scratch;  // the one definition of traffic wants an instruction on a value
    scratch.mesh = program_.mesh;
    Value v;
    v.type = type_;
    v.layout = before;
    v.local_sizes = local_sizes(program_, type_.shape, before);
    scratch.values.push_back(std::move(v));
    Instruction instruction;
    instruction.action = action;
    instruction.inputs = {ValueId{0}};
    instruction.results = {ValueId{0}};
    const Traffic t = traffic(scratch, instruction);
    return {t.bytes, t.messages, 1};
  }

  std::vector<Action> moves(const Layout& at) const {
    std::vector<Action> out;
    if (at.partial != goal_.partial)
      reductions(at, out);
    for (size_t i = 0; i < at.split.size(); ++i) {
      if (is_prefix(at.split[i], goal_.split[i]) && at.split[i].size() < goal_.split[i].size())
        slice(at, i, out);
      if (!is_prefix(at.split[i], goal_.split[i]))
        unsplit(at, i, out);
    }
    return out;
  }

  void reductions(const Layout& at, std::vector<Action>& out) const {
    for (size_t k = 1; k <= at.partial.size(); ++k) {
      const AxisList inner(at.partial.begin(), at.partial.begin() + static_cast<std::ptrdiff_t>(k));
      const Algorithm algorithm = choose_algorithm(bytes(at), program_.mesh.size(inner));
      out.push_back(AllReduce{inner, reduction_, algorithm});
      if (reduction_ != Reduction::sum)
        continue;
      const AxisList major_first(inner.rbegin(), inner.rend());
      const Algorithm scatter = algorithm == Algorithm::gather ? algorithm : Algorithm::halving;
      for (size_t i = 0; i < at.split.size(); ++i)
        if (is_prefix(appended(at.split[i], major_first), goal_.split[i]))
          out.push_back(ReduceScatter{inner, type_.shape.dims[i], scatter});
    }
  }

  void slice(const Layout& at, size_t i, std::vector<Action>& out) const {
    const AxisId next = goal_.split[i][at.split[i].size()];
    if (!uses(at, next))
      out.push_back(Slice{next, type_.shape.dims[i]});
  }

  void unsplit(const Layout& at, size_t i, std::vector<Action>& out) const {
    const AxisId axis = at.split[i].back();
    out.push_back(AllGather{axis, type_.shape.dims[i]});
    for (size_t j = 0; j < at.split.size(); ++j)
      if (j != i && is_prefix(appended(at.split[j], {axis}), goal_.split[j]))
        out.push_back(AllToAll{axis, type_.shape.dims[j], type_.shape.dims[i]});
  }

  static bool uses(const Layout& layout, AxisId axis) {
    auto has = [axis](const AxisList& list) {
      return std::count(list.begin(), list.end(), axis) > 0;
    };
    return has(layout.partial) || std::any_of(layout.split.begin(), layout.split.end(), has);
  }

  const Program& program_;
  const Type& type_;
  Reduction reduction_;
  const Layout& goal_;
  std::vector<State> states_;
  std::map<std::vector<int8_t>, int> index_;
};

AxisList& split_of(Layout& layout, const Shape& shape, DimId d) {
  return layout.split[static_cast<size_t>(shape.find(d))];
}

}  // namespace

Layout apply(const Action& action, const Shape& shape, Layout layout) {
  auto drop = [&](const AxisList& over) {
    layout.partial.erase(layout.partial.begin(),
                         layout.partial.begin() + static_cast<std::ptrdiff_t>(over.size()));
  };
  if (const auto* a = std::get_if<AllReduce>(&action)) {
    drop(a->over);
  } else if (const auto* r = std::get_if<ReduceScatter>(&action)) {
    drop(r->over);
    AxisList& axes = split_of(layout, shape, r->dim);
    axes.insert(axes.end(), r->over.rbegin(), r->over.rend());
  } else if (const auto* g = std::get_if<AllGather>(&action)) {
    split_of(layout, shape, g->dim).pop_back();
  } else if (const auto* s = std::get_if<Slice>(&action)) {
    split_of(layout, shape, s->dim).push_back(s->over);
  } else if (const auto* t = std::get_if<AllToAll>(&action)) {
    split_of(layout, shape, t->concat).pop_back();
    split_of(layout, shape, t->split).push_back(t->over);
  }
  return layout;
}

std::vector<int64_t> local_sizes(const Program& program, const Shape& shape, const Layout& layout) {
  std::vector<int64_t> sizes;
  sizes.reserve(shape.dims.size());
  for (size_t i = 0; i < shape.dims.size(); ++i)
    sizes.push_back(program[shape.dims[i]].size / program.mesh.size(layout.split[i]));
  return sizes;
}

std::vector<Action> conversion(const Program& program, const Type& type, Reduction reduction,
                               const Layout& from, const Layout& to) {
  CHECK(to.partial.empty() || to.partial == from.partial);
  return Search(program, type, reduction, to).run(from);
}

}  // namespace mtf
