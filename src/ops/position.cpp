// Positions as rotations (rope) and as waves (sinusoid), made of iota where they are used.
#include <fmt/format.h>

#include <cmath>

#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Operands = std::span<const NodeId>;

bool require_even(Builder& b, DimId d) {
  if (b.graph[d].true_size() % 2 == 0)
    return true;
  b.error_at(d, Code::model_shape,
             fmt::format("{} is odd; positions need pairs", b.graph[d].show()));
  return false;
}

// The index of each element's pair along a dim, and whether it is the first of the pair.
struct Pairs {
  Pairs(Builder& b, DimId d, bool neighbours)
      : half(b.graph[d].true_size() / 2),
        index(iota(b, d, b.numerics.statistics())),
        first(less(index, static_cast<double>(half))) {
    if (neighbours) {
      Expr pair = floor(index * 0.5);
      first = equal(index, pair * 2);
      index = pair;
    } else {
      index = where(first, index, index + -static_cast<double>(half));
    }
  }
  // position * base^(-pair / half), dims [rows, d]
  Expr angle(DimId rows, double base) const {
    Builder& b = index.builder();
    return iota(b, rows, index.dtype()) *
           exp(index * (-std::log(base) / static_cast<double>(half)));
  }

  int64_t half;
  Expr index, first;
};

// x with the elements of each pair exchanged.
Expr exchanged(Expr x, DimId d, const Pairs& pairs, bool neighbours) {
  auto moved = [&](int64_t offset) {
    return apply("shift", x, {{{"over", d}, {"offset", offset}, {"wrap", true}}});
  };
  return neighbours ? where(pairs.first, moved(-1), moved(1)) : moved(pairs.half);
}

// Turns each pair (x0, x1) to (x0 cos - x1 sin, x1 cos + x0 sin) by direction * angle.
Expr turned(Expr x, const Attrs& attrs, double direction) {
  Builder& b = x.builder();
  const DimId key = *attrs.get<DimId>("key");
  const bool neighbours = attrs.get_or<std::string>("pairs", "halves") == "neighbours";
  Pairs pairs(b, key, neighbours);
  Expr angle = pairs.angle(*attrs.get<DimId>("rows"), attrs.get_or("base", 10000.0));
  Expr sine = sin(angle) * direction;
  Expr along = x * cos(angle);
  return along + exchanged(x, key, pairs, neighbours) * where(pairs.first, -sine, sine);
}

NodeId build_rope(Builder& b, Operands x, Attrs& attrs, std::vector<NodeId>&) {
  const DimId key = *attrs.get<DimId>("key"), rows = *attrs.get<DimId>("rows");
  const DimId needed[] = {rows, key};
  if (!b.require_dims(x[0], needed) || !b.require_distinct(needed) || !require_even(b, key))
    return {};
  return cast(turned(Expr(b, x[0]), attrs, 1), b.dtype(x[0]));
}

// The transpose of a rotation is the rotation back.
std::vector<NodeId> gradient_rope(const GradientArgs& g) {
  return {turned(Expr(g.b, g.dy), g.attrs, -1)};
}

NodeId build_sinusoid(Builder& b, Operands, Attrs& attrs, std::vector<NodeId>&) {
  const DimId over = *attrs.get<DimId>("over"), rows = *attrs.get<DimId>("rows");
  if (!require_even(b, over))
    return {};
  Pairs pairs(b, over, false);
  Expr angle = pairs.angle(rows, 10000);
  return cast(where(pairs.first, sin(angle), cos(angle)), b.numerics.compute);
}

}  // namespace

std::span<const OpDef> position_ops() {
  static const AttrDef rows{"rows", AttrKind::dim, "the dim of the positions", true};
  static const OpDef ops[] = {
      {.name = "rope",
       .summary = "Turns pairs of elements along the key dim by position * base^(-2 i / key) "
                  "(Su et al. 2021).",
       .attributes = {rows,
                      {"key", AttrKind::dim, "the dim of the pairs", true},
                      {"base", AttrKind::number, "10,000 by default", false, above(0)},
                      {"pairs",
                       AttrKind::word,
                       "halves (i, i + key / 2), the default, or neighbours",
                       false,
                       {},
                       {"halves", "neighbours"}}},
       .build = build_rope,
       .gradient = gradient_rope},
      {.name = "sinusoid",
       .summary =
           "Waves of position * 10,000^(-2 i / over): sines in the first half, cosines in the "
           "second (Vaswani et al. 2017).",
       .min_operands = 0,
       .max_operands = 0,
       .attributes = {rows, {"over", AttrKind::dim, "the dim of the waves", true}},
       .build = build_sinusoid},
  };
  return ops;
}

}  // namespace mtf
