// Ops that move or rename elements. rename, transpose and stop_gradient are names, not work; what
// changes a size says the new dim.
#include <fmt/format.h>

#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Dims = std::vector<DimId>;
using Operands = std::span<const NodeId>;
using Gradients = std::vector<NodeId>;

int64_t size(Builder& b, DimId d) {
  return b.graph[d].size;
}

// The operand's type with `from` called `to`.
Type replaced(Builder& b, NodeId x, DimId from, DimId to) {
  Type type = b[x].type;
  for (DimId& d : type.shape.dims)
    if (d == from)
      d = to;
  return type;
}

bool require_absent(Builder& b, NodeId x, DimId d) {
  if (!b.shape(x).has(d))
    return true;
  b.error_at(d, Code::model_shape,
             fmt::format("the operand {} already has the new dim '{}'", b.graph.show(b.shape(x)),
                         b.graph[d].name));
  return false;
}

std::optional<Type> infer_rename(Builder& b, Operands x, Attrs& attrs) {
  Type type = b[x[0]].type;
  for (auto [from, to] : *attrs.get<DimPairs>("dims")) {
    if (!b.require_dims(x[0], {&from, 1}) || !require_absent(b, x[0], to))
      return std::nullopt;
    const Dim &old = b.graph[from], &renamed = b.graph[to];
    if (old.size != renamed.size || old.padding != renamed.padding) {
      b.error(Code::model_shape,
              fmt::format("{} and {} differ in size", old.show(), renamed.show()));
      return std::nullopt;
    }
    type.shape.dims[static_cast<size_t>(type.shape.find(from))] = to;
  }
  return type;
}

Gradients gradient_rename(const GradientArgs& g) {
  DimPairs back;
  for (auto [from, to] : *g.attrs.get<DimPairs>("dims"))
    back.emplace_back(to, from);
  return {g.b.add("rename", {g.dy}, {{{"dims", back}}})};
}

std::optional<Type> infer_transpose(Builder& b, Operands x, Attrs& attrs) {
  const Dims to = *attrs.get<Dims>("to");
  bool same =
      to.size() == b.shape(x[0]).dims.size() && dims_without(b.shape(x[0]).dims, to).empty();
  if (!same) {
    b.error(Code::model_shape, fmt::format("{} is not the operand's dims {} in another order",
                                           b.graph.show({to}), b.graph.show(b.shape(x[0]))));
    return std::nullopt;
  }
  return Type{{to}, b.dtype(x[0])};
}

Gradients gradient_same(const GradientArgs& g) {
  return {g.dy};
}

std::optional<Type> infer_same(Builder& b, Operands x, Attrs&) {
  return b[x[0]].type;
}

// The dims that a reshape keeps at both ends may be padded, those that it regroups may not.
bool require_whole(Builder& b, std::span<const DimId> from, std::span<const DimId> to) {
  while (!from.empty() && !to.empty() && from.front() == to.front()) {
    from = from.subspan(1);
    to = to.subspan(1);
  }
  while (!from.empty() && !to.empty() && from.back() == to.back()) {
    from = from.first(from.size() - 1);
    to = to.first(to.size() - 1);
  }
  return b.require_unpadded(from) && b.require_unpadded(to);
}

// `to` stands where the first of `from` stood; both name the elements in row-major order. The node
// then lists all dims on both sides, those that stay included.
std::optional<Type> infer_reshape(Builder& b, Operands x, Attrs& attrs) {
  const Dims all = b.shape(x[0]).dims;
  const Dims from = attrs.get_or("from", all), to = *attrs.get<Dims>("to");
  if (!b.require_dims(x[0], from) || !b.require_distinct(from) || !require_whole(b, from, to))
    return std::nullopt;
  if (b.graph.elements({from}) != b.graph.elements({to})) {
    b.error(Code::model_shape,
            fmt::format("{} has {} elements, {} has {}", b.graph.show({from}),
                        b.graph.elements({from}), b.graph.show({to}), b.graph.elements({to})));
    return std::nullopt;
  }
  const Dims stay = dims_without(all, from);
  for (DimId d : to)
    if (contains(stay, d) && !require_absent(b, x[0], d))
      return std::nullopt;
  size_t place = 0;  // how many dims that stay come before
  while (place < stay.size() && stay[place] == all[place])
    ++place;
  Dims before = stay, after = stay;
  before.insert(before.begin() + static_cast<int64_t>(place), from.begin(), from.end());
  after.insert(after.begin() + static_cast<int64_t>(place), to.begin(), to.end());
  attrs = Attrs{{{"from", before}, {"to", after}}};
  return Type{{after}, b.dtype(x[0])};
}

Gradients gradient_reshape(const GradientArgs& g) {
  return {g.b.add("reshape", {g.dy},
                  {{{"from", *g.attrs.get<Dims>("to")}, {"to", *g.attrs.get<Dims>("from")}}})};
}

// ---- parts of one dim -----------------------------------------------------------------------

bool require_range(Builder& b, bool fits, std::string_view what, DimId outer, DimId inner,
                   int64_t start) {
  if (!fits)
    b.error_at("start", Code::model_shape,
               fmt::format("{}={} from {} {} {}={}", b.graph[inner].name, size(b, inner), start,
                           what, b.graph[outer].name, size(b, outer)));
  return fits;
}

// [x] or [x, start]: elements start, start + 1, ... along `over`, called `to`.
std::optional<Type> infer_slice(Builder& b, Operands x, Attrs& attrs) {
  const DimId over = *attrs.get<DimId>("over"), to = *attrs.get<DimId>("to");
  const int64_t start = attrs.get_or<int64_t>("start", 0);
  bool fits = start <= size(b, over) - size(b, to);
  if (!b.require_dims(x[0], {&over, 1}) || (over != to && !require_absent(b, x[0], to)) ||
      !require_range(b, fits, "does not lie in", over, to, start))
    return std::nullopt;
  return replaced(b, x[0], over, to);
}

Gradients gradient_slice(const GradientArgs& g) {
  Attrs attrs{{{"over", *g.attrs.get<DimId>("to")},
               {"to", *g.attrs.get<DimId>("over")},
               {"before", g.attrs.get_or<int64_t>("start", 0)}}};
  if (g.inputs.size() == 1)
    return {g.b.add("pad", {g.dy}, attrs)};
  return {NodeId{}, NodeId{}};
}

// `before` zeros, the operand, and zeros up to the size of `to`.
std::optional<Type> infer_pad(Builder& b, Operands x, Attrs& attrs) {
  const DimId over = *attrs.get<DimId>("over"), to = *attrs.get<DimId>("to");
  const int64_t before = attrs.get_or<int64_t>("before", 0);
  bool fits = before <= size(b, to) - size(b, over);
  if (!b.require_dims(x[0], {&over, 1}) || (over != to && !require_absent(b, x[0], to)) ||
      !require_range(b, fits, "does not fit in", to, over, before))
    return std::nullopt;
  return replaced(b, x[0], over, to);
}

Gradients gradient_pad(const GradientArgs& g) {
  return {g.b.add("slice", {g.dy},
                  {{{"over", *g.attrs.get<DimId>("to")},
                    {"to", *g.attrs.get<DimId>("over")},
                    {"start", g.attrs.get_or<int64_t>("before", 0)}}})};
}

// `over` names one dim of each operand; the result has `to`, of their summed size.
std::optional<Type> infer_concat(Builder& b, Operands x, Attrs& attrs) {
  const Dims over = *attrs.get<Dims>("over");
  const DimId to = *attrs.get<DimId>("to");
  if (over.size() != x.size()) {
    b.error_at("over", Code::model_attribute,
               fmt::format("'over' names {} dims for {} operands", over.size(), x.size()));
    return std::nullopt;
  }
  int64_t total = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!b.require_dims(x[i], {&over[i], 1}))
      return std::nullopt;
    total += size(b, over[i]);
  }
  const Type first = replaced(b, x[0], over[0], to);
  for (size_t i = 1; i < x.size(); ++i) {
    const Type other = replaced(b, x[i], over[i], to);
    bool same = other.dtype == first.dtype && other.shape.dims.size() == first.shape.dims.size() &&
                dims_without(other.shape.dims, first.shape.dims).empty();
    if (!same) {
      b.error(Code::model_shape,
              fmt::format("{} and {} differ in other dims or in dtype", b.graph.show(b.shape(x[0])),
                          b.graph.show(b.shape(x[i]))));
      return std::nullopt;
    }
  }
  if (total != size(b, to)) {
    b.error(Code::model_shape, fmt::format("the parts have {} elements, {} has {}", total,
                                           b.graph[to].name, size(b, to)));
    return std::nullopt;
  }
  return first;
}

Gradients gradient_concat(const GradientArgs& g) {
  const Dims over = *g.attrs.get<Dims>("over");
  Gradients parts;
  int64_t start = 0;
  for (DimId d : over) {
    parts.push_back(g.b.add("slice", {g.dy},
                            {{{"over", *g.attrs.get<DimId>("to")}, {"to", d}, {"start", start}}}));
    start += size(g.b, d);
  }
  return parts;
}

// Element i is element i - offset of the operand; zeros (or, with wrap, the other end) move in.
std::optional<Type> infer_shift(Builder& b, Operands x, Attrs& attrs) {
  const DimId over = *attrs.get<DimId>("over");
  if (!b.require_dims(x[0], {&over, 1}))
    return std::nullopt;
  return b[x[0]].type;
}

Gradients gradient_shift(const GradientArgs& g) {
  Attrs attrs = g.attrs;
  attrs.set("offset", -*g.attrs.get<int64_t>("offset"));
  return {g.b.add("shift", {g.dy}, attrs)};
}

// [whole, part, position] or [whole, part, position, count]: `whole` with the first `count` rows of
// the part along `from` written at `position` along `over`.
std::optional<Type> infer_write_slice(Builder& b, Operands x, Attrs& attrs) {
  const DimId over = *attrs.get<DimId>("over"), from = *attrs.get<DimId>("from");
  if (!b.require_dims(x[0], {&over, 1}) || !b.require_dims(x[1], {&from, 1}))
    return std::nullopt;
  return b[x[0]].type;
}

Role whole_where_touched(const Graph&, const Node& node, DimId d) {
  for (std::string_view key : {"over", "to", "from"}) {
    const DimId* one = node.attrs.get<DimId>(key);
    const Dims* several = node.attrs.get<Dims>(key);
    if ((one && *one == d) || (several && contains(*several, d)))
      return Role::whole;
  }
  return Role::kept;
}

// ---- the table ------------------------------------------------------------------------------

using Infer = decltype(OpDef::infer);
using Gradient = decltype(OpDef::gradient);

OpDef name_only(std::string_view name, std::string_view summary, std::vector<AttrDef> attributes,
                Infer infer, Gradient gradient) {
  return {.name = name,
          .summary = summary,
          .attributes = std::move(attributes),
          .infer = infer,
          .gradient = gradient,
          .name_only = true,
          .flops_per_point = 0};
}

OpDef moving(std::string_view name, std::string_view summary, std::vector<AttrDef> attributes,
             Infer infer, Gradient gradient, std::string_view kernel) {
  return {.name = name,
          .summary = summary,
          .attributes = std::move(attributes),
          .infer = infer,
          .gradient = gradient,
          .role = kernel == "copy" ? nullptr : whole_where_touched,
          .movement = true,
          .flops_per_point = 0,
          .kernel = kernel};
}

OpDef taking(OpDef op, int min_operands, int max_operands) {
  op.min_operands = min_operands;
  op.max_operands = max_operands;
  return op;
}

std::vector<OpDef> names() {
  return {
      name_only("rename", "x under other dim names of the same sizes.",
                {{"dims", AttrKind::dim_map, "old name: new name", true}}, infer_rename,
                gradient_rename),
      name_only("transpose", "x with its dims in another order.",
                {{"to", AttrKind::dims, "all dims in the new order", true}}, infer_transpose,
                gradient_same),
      name_only("stop_gradient", "x as a constant: no gradient flows through.", {}, infer_same,
                nullptr),
  };
}

std::vector<OpDef> movements() {
  const AttrDef over{"over", AttrKind::dim, "the dim that changes", true};
  const AttrDef to{"to", AttrKind::dim, "the dim of the result in its place", true};
  OpDef write = taking(moving("write_slice", "x with a part of it replaced at a position.",
                              {over, {"from", AttrKind::dim, "the part's dim", true}},
                              infer_write_slice, nullptr, "write_slice"),
                       3, 4);
  write.in_place = true;
  write.internal = true;
  return {
      moving("reshape", "The same elements in row-major order under other dims.",
             {{"from", AttrKind::dims, "dims to replace; by default all"},
              {"to", AttrKind::dims, "the dims in their place", true}},
             infer_reshape, gradient_reshape, "copy"),
      taking(moving("slice", "Neighbouring elements along a dim.",
                    {over,
                     to,
                     {"start", AttrKind::integer, "the first index, 0 by default", false,
                      at_least(0)}},
                    infer_slice, gradient_slice, "slice"),
             1, 2),
      moving("pad", "x with zeros before and after it along a dim.",
             {over,
              to,
              {"before", AttrKind::integer, "zeros before, 0 by default", false, at_least(0)}},
             infer_pad, gradient_pad, "pad"),
      taking(moving("concat", "Operands one after another along a dim.",
                    {{"over", AttrKind::dims, "the dim of each operand", true}, to}, infer_concat,
                    gradient_concat, "concat"),
             1, -1),
      moving("shift", "x moved along a dim; zeros, or the other end, move in.",
             {over,
              {"offset", AttrKind::integer, "element i of x moves to i + offset", true},
              {"wrap", AttrKind::boolean, "whether the other end moves in"}},
             infer_shift, gradient_shift, "shift"),
      write,
  };
}

}  // namespace

std::span<const OpDef> shape_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> all = names();
    for (const OpDef& op : movements())
      all.push_back(op);
    return all;
  }();
  return ops;
}

}  // namespace mtf
