#include "plan/fuse_products.h"

#include <algorithm>
#include <optional>

#include "plan/uses.h"

namespace mtf {
namespace {

constexpr size_t most_operands = 24, most_results = 8;  // of the product with its map
constexpr size_t reach = 24;                            // instructions that a product may move down

bool same_space(const Program& p, ValueId sums, const Instruction& map) {
  auto sorted = [&](ValueId v) {
    std::vector<DimId> dims = p[v].type.shape.dims;
    std::sort(dims.begin(), dims.end());
    return dims;
  };
  return sorted(sums) == sorted(map.results[0]);
}

bool reads(const Program& p, const Instruction& i, ValueId v) {
  return std::any_of(i.inputs.begin(), i.inputs.end(),
                     [&](ValueId read) { return root(p, read) == v; });
}

bool may_take(const Program& p, const Instruction& product, const Instruction& map) {
  const ValueId sums = product.results[0];
  return map.phase == product.phase && same_space(p, sums, map) &&
         map.results.size() < most_results &&
         product.inputs.size() + map.inputs.size() <= most_operands &&
         std::all_of(map.inputs.begin(), map.inputs.end(),
                     [&](ValueId v) { return v == sums || root(p, v) != sums; });
}

// The map's body on the registers of the product: its inputs, the map's other operands, the sums,
// steps.
void append(Instruction& product, const Instruction& map, bool keep_sums) {
  const ValueId sums = product.results[0];
  std::vector<ValueId> inputs = product.inputs;
  for (ValueId v : map.inputs)
    if (v != sums && std::count(inputs.begin(), inputs.end(), v) == 0)
      inputs.push_back(v);
  const int at_sums = static_cast<int>(inputs.size());
  auto moved = [&](int r) {
    if (r < 0)
      return r;
    const auto i = static_cast<size_t>(r);
    if (i >= map.inputs.size())
      return at_sums + 1 + r - static_cast<int>(map.inputs.size());
    const ValueId v = map.inputs[i];
    return v == sums
               ? at_sums
               : static_cast<int>(std::find(inputs.begin(), inputs.end(), v) - inputs.begin());
  };
  Compute& c = *compute(product);
  c.call.body = std::get<Compute>(map.action).call.body;
  for (BodyStep& step : c.call.body.steps) {
    step.a = moved(step.a);
    step.b = moved(step.b);
    step.c = moved(step.c);
  }
  for (int& r : c.call.body.results)
    r = moved(r);
  product.results = map.results;
  if (keep_sums) {
    c.call.body.results.push_back(at_sums);
    product.results.push_back(sums);
  }
  product.inputs = std::move(inputs);
  c.label += "+" + std::get<Compute>(map.action).label;
  product.flops += map.flops;
  product.unique_flops += map.unique_flops;
}

// Where the map that joins the product at `i` stands, and where the two can stand as one: with the
// product if the map's operands are made by then, else with the map if nothing reads the sums
// before.
struct Joint {
  size_t map, place;
};

std::optional<Joint> joint_of(Program& p, const Uses& uses, size_t i) {
  const ValueId sums = p.code[i].results[0];
  bool first = true;
  for (size_t k = i + 1; k < std::min(p.code.size(), i + 1 + reach); ++k) {
    if (!reads(p, p.code[k], sums))
      continue;
    if (is(p.code[k], "map") && may_take(p, p.code[i], p.code[k])) {
      const std::vector<ValueId>& operands = p.code[k].inputs;
      const bool early = std::all_of(operands.begin(), operands.end(), [&](ValueId v) {
        return uses.maker_of(root(p, v)) <= static_cast<int>(i);
      });
      if (early || first)
        return Joint{k, early ? i : k};
    }
    first = false;
  }
  return std::nullopt;
}

}  // namespace

void fuse_products(Program& p) {
  Uses uses(p);
  std::vector<char> dead(p.code.size(), 0);
  for (size_t i = 0; i < p.code.size(); ++i) {
    if (!is(p.code[i], "product") || !compute(p.code[i])->call.body.results.empty())
      continue;
    const std::optional<Joint> joint = joint_of(p, uses, i);
    if (!joint)
      continue;
    Instruction product = std::move(p.code[i]), map = std::move(p.code[joint->map]);
    append(product, map, !uses.read_once(product.results[0]));
    for (ValueId v : product.results)
      uses.maker[static_cast<size_t>(v.index)] = static_cast<int>(joint->place);
    dead[i] = dead[joint->map] = 1;
    dead[joint->place] = 0;
    p.code[joint->place] = std::move(product);
    for (size_t gone : {i, joint->map})
      if (gone != joint->place)
        p.code[gone] = {};
  }
  remove(p, dead);
}

}  // namespace mtf
