// Heavy products: axes that they leave idle, and shards too small for the kernels.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "plan/names.h"
#include "plan/style.h"

namespace mtf {
namespace {

constexpr double heavy_share = 0.05;   // of a device's FLOPs in a step
constexpr int64_t smallest_shard = 8;  // rows, columns or terms

// "a=4, b=8": whole sizes.
std::string shown(const Program& p, const std::vector<DimId>& dims) {
  std::vector<std::string> words;
  for (DimId d : dims)
    words.push_back(p[d].show());
  return listed(words);
}

bool is_block(const Program& p, DimId d) {
  return p[d].block_of.index >= 0;
}

// The products that one line of the spec makes: of all copies, forward and backward.
struct Product {
  const Program* program = nullptr;
  const Instruction* first = nullptr;
  double flops = 0;  // of one device in a step
};

class Work {
 public:
  Work(std::span<const StepProgram> step, const LayoutRules& rules, Diagnostics& diagnostics)
      : rules_(rules), diagnostics_(diagnostics) {
    for (const StepProgram& s : step)
      for (const Instruction& i : s.program.code)
        see(s, i);
  }

  void report() {
    for (const auto& [key, product] : idle_)
      if (product.flops >= heavy_share * flops_)
        report_idle(*product.program, *product.first, key.second, product.flops);
    std::set<const LayoutRule*> said;
    for (const auto& [key, product] : tiny_)
      if (product.flops >= heavy_share * flops_)
        report_tiny(*product.program, *product.first, said);
  }

 private:
  using Place = std::tuple<int, int, int>;

  void see(const StepProgram& step, const Instruction& i) {
    const double flops = static_cast<double>(step.times) * i.flops;
    flops_ += flops;
    const auto* compute = std::get_if<Compute>(&i.action);
    if (flops == 0 || !compute || compute->call.kernel != "product")
      return;
    const Program& p = step.program;
    const Place place{i.origin.span.file, i.origin.span.line, i.origin.span.column};
    auto count = [&](Product& product) {
      if (!product.first)
        product = {&p, &i, 0};
      product.flops += flops;
    };
    const IterationSpace space(p, i);
    for (int8_t a = 0; a < static_cast<int8_t>(p.mesh.axes.size()); ++a)
      if (space.user_of({a}).index < 0 && first_use({a}))
        count(idle_[{place, AxisId{a}}]);
    if (tiny_group(p, i, space).ways > 1)
      count(tiny_[place]);
  }

  // Where the layout gives an axis anything at all: an axis without a rule is another finding.
  const LayoutRule::Use* first_use(AxisId axis) const {
    auto in = [axis](const std::vector<LayoutRule>& rules) -> const LayoutRule::Use* {
      for (const LayoutRule& rule : rules)
        for (const LayoutRule::Use& use : rule.axes)
          if (use.axis == axis)
            return &use;
      return nullptr;
    };
    const LayoutRule::Use* found = in(rules_.rules);
    for (size_t i = 0; !found && i < rules_.tensors.size(); ++i)
      found = in(rules_.tensors[i].second);
    return found;
  }

  void report_idle(const Program& p, const Instruction& i, AxisId axis, double flops) {
    const Axis& a = p.mesh.axes[static_cast<size_t>(axis.index)];
    const IterationSpace space(p, i);
    std::vector<DimId> dims, able;
    for (size_t k = 0; k < space.dims.size(); ++k) {
      const DimId d = space.dims[k];
      if (is_block(p, d))
        continue;
      dims.push_back(d);
      if (p[d].size / p.mesh.size(space.split[k]) % a.size == 0)
        able.push_back(d);
    }
    auto local = [&](DimId d) { return p[d].size / p.mesh.size(*space.of(d)); };
    std::stable_sort(able.begin(), able.end(),
                     [&](DimId x, DimId y) { return local(x) > local(y); });
    const std::string help =
        able.empty()
            ? fmt::format("no dim of it can be split by {} here; change a size or the mesh", a.size)
            : fmt::format("{} could be split by {} here; for example `{}: {}?`", shown(p, able),
                          a.size, p[able[0]].rule, a.name);
    diagnostics_.add(
        {Code::layout_idle_axis,
         fmt::format("'{}' splits no dim of {} ({}): its {} ranks each do the same {:.3g} FLOPs a "
                     "step, {:.0f} % of a device's",
                     a.name, folded(i.origin.scope), shown(p, dims), a.size, flops,
                     100 * flops / flops_),
         first_use(axis)->span,
         {{i.origin.span, fmt::format("{} is made here", folded(i.origin.scope))}},
         help});
  }

  // Rows, columns or terms of a product: those dims of its operands and result that play this part.
  struct Group {
    const char* what = "";
    int64_t local = 1, whole = 1, ways = 1;
    DimId split;  // the dim that is split most
  };

  // The part of which a device has too few because the layout splits it; ways 1: there is none.
  static Group tiny_group(const Program& p, const Instruction& i, const IterationSpace& space) {
    const Value &x = p[i.inputs[0]], &y = p[i.inputs[1]], &result = p[i.results[0]];
    Group groups[] = {{"rows", 1, 1, 1, {}}, {"columns", 1, 1, 1, {}}, {"terms", 1, 1, 1, {}}};
    for (size_t k = 0; k < space.dims.size(); ++k) {
      const DimId d = space.dims[k];
      const bool in_x = x.type.shape.has(d), in_y = y.type.shape.has(d);
      if (is_block(p, d) || (in_x && in_y && result.type.shape.has(d)))
        continue;
      Group& g = groups[in_x && in_y ? 2 : in_y ? 1 : 0];
      const int64_t ways = p.mesh.size(space.split[k]);
      if (ways > 1 && (g.split.index < 0 || ways > p.mesh.size(*space.of(g.split))))
        g.split = d;
      g.local *= p[d].size / ways;
      g.whole *= p[d].size;
      g.ways *= ways;
    }
    for (const Group& g : groups)
      if (g.ways > 1 && g.local < smallest_shard && g.whole >= smallest_shard)
        return g;
    return {};
  }

  void report_tiny(const Program& p, const Instruction& i, std::set<const LayoutRule*>& said) {
    const IterationSpace space(p, i);
    const Group g = tiny_group(p, i, space);
    const AxisList& axes = *space.of(g.split);
    const RuleUse by = rule_for(rules_.rules, p[g.split], axes[0]);
    if (!by.rule || !said.insert(by.rule).second)
      return;
    diagnostics_.add(
        {Code::layout_tiny_shards,
         fmt::format("'{}'={} split by {} leaves a device {} of the {} {} of {}; its kernel "
                     "computes at least {} at a time, the rest for nothing",
                     p[g.split].name, p[g.split].size, p.mesh.size(axes), g.local, g.whole, g.what,
                     folded(i.origin.scope), smallest_shard),
         by.rule->span,
         {{i.origin.span, fmt::format("{} is made here", folded(i.origin.scope))}},
         fmt::format("split '{}' by at most {}, or another dim", p[g.split].name,
                     std::max<int64_t>(g.whole / smallest_shard, 1))});
  }

  const LayoutRules& rules_;
  Diagnostics& diagnostics_;
  double flops_ = 0;  // of a device in a step
  std::map<std::pair<Place, AxisId>, Product> idle_;
  std::map<Place, Product> tiny_;
};

}  // namespace

IterationSpace::IterationSpace(const Program& p, const Instruction& i) {
  auto add = [&](const Value& v) {
    for (size_t k = 0; k < v.type.shape.dims.size(); ++k) {
      const DimId d = v.type.shape.dims[k];
      if (std::count(dims.begin(), dims.end(), d))
        continue;
      dims.push_back(d);
      split.push_back(v.layout.split[k]);
    }
  };
  for (ValueId v : i.inputs)
    add(p[v]);
  for (ValueId v : i.results)
    add(p[v]);
}

const AxisList* IterationSpace::of(DimId d) const {
  const auto it = std::find(dims.begin(), dims.end(), d);
  return it == dims.end() ? nullptr : &split[static_cast<size_t>(it - dims.begin())];
}

DimId IterationSpace::user_of(AxisId axis) const {
  for (size_t k = 0; k < dims.size(); ++k)
    if (std::count(split[k].begin(), split[k].end(), axis))
      return dims[k];
  return {};
}

RuleUse rule_for(const std::vector<LayoutRule>& rules, const Dim& dim, AxisId axis) {
  for (const LayoutRule& rule : rules)
    for (const LayoutRule::Use& use : rule.axes)
      if (rule.dim == dim.rule && use.axis == axis)
        return {&rule, &use};
  return {};
}

void check_work(std::span<const StepProgram> step, const LayoutRules& rules,
                Diagnostics& diagnostics) {
  Work(step, rules, diagnostics).report();
}

}  // namespace mtf
