// Attention, defined by its steps (docs/NUMERICS.md 7): scores with the key dim in one
// chain, times 1 / sqrt(key), masked to -infinity by a true select, softmax, product with v. Saved
// are the maximum and the sum of each row; the gradient recomputes the rest.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/families.h"
#include "ops/softmax.h"

namespace mtf {
namespace {

using Dims = std::vector<DimId>;
using Operands = std::span<const NodeId>;
using Gradients = std::vector<NodeId>;

class Attention {
 public:
  Attention(Builder& b, Operands operands, const Attrs& attrs)
      : over{*attrs.get<DimId>("over")},
        b_(b),
        q_(operands[0]),
        k_(operands[1]),
        v_(operands[2]),
        rows_(*attrs.get<DimId>("rows")),
        key_(*attrs.get<DimId>("key")),
        scale_(
            attrs.get_or("scale", 1 / std::sqrt(static_cast<double>(b.graph[key_].true_size())))),
        causal_(attrs.get_or("causal", false)),
        window_(attrs.get_or<int64_t>("window", 0)) {}

  bool check() const {
    const DimId q[] = {rows_, key_}, k[] = {over[0], key_};
    return b_.require_dims(q_, q) && b_.require_dims(k_, k) && b_.require_dims(v_, over);
  }

  // Scaled and masked, dims as score_dims.
  Expr scores() const {
    Expr s = Expr(b_, b_.einsum(q_, k_, score_dims(), true)) * scale_;
    if (!causal_ && window_ == 0)
      return s;
    return where(mask(), s, -std::numeric_limits<double>::infinity());
  }

  NodeId weighted_values(Expr weights) const {
    return b_.cast(b_.einsum(weights, v_, result_dims()), b_.numerics.compute);
  }

  // Gradients of q, k, v, given the weights and the gradient of the result.
  Gradients gradients(Expr weights, NodeId dy) const {
    Expr dweights(b_, b_.einsum(dy, v_, score_dims(), true));
    Expr dscores = softmax_gradient(weights, dweights, over) * scale_;
    return {b_.einsum(dscores, k_, b_.shape(q_).dims), b_.einsum(dscores, q_, b_.shape(k_).dims),
            b_.einsum(dy, weights, b_.shape(v_).dims)};
  }

  const Dims over;

 private:
  // Those of q but the key's, then those of k that q lacks.
  Dims score_dims() const {
    Dims dims = dims_without(b_.shape(q_).dims, {&key_, 1});
    for (DimId d : dims_without(b_.shape(k_).dims, b_.shape(q_).dims))
      dims.push_back(d);
    return dims;
  }

  // Those of q (with the key's only if v has it), then those that k and v add.
  Dims result_dims() const {
    Dims dims;
    for (DimId d : b_.shape(q_).dims)
      if (d != key_ || b_.shape(v_).has(d))
        dims.push_back(d);
    for (NodeId x : {k_, v_})
      for (DimId d : dims_without(b_.shape(x).dims, dims))
        if (d != over[0] && d != key_)
          dims.push_back(d);
    return dims;
  }

  // True where a row may look: not ahead (causal), and less than `window` away.
  Expr mask() const {
    Expr row = iota(b_, rows_, DType::i32), column = iota(b_, over[0], DType::i32);
    Expr here =
        causal_ ? greater_equal(row, column) : less(column - row, static_cast<double>(window_));
    return window_ == 0 ? here : both(here, less(row - column, static_cast<double>(window_)));
  }

  Builder& b_;
  NodeId q_, k_, v_;
  DimId rows_, key_;
  double scale_;
  bool causal_;
  int64_t window_;
};

NodeId build_attention(Builder& b, Operands operands, Attrs& attrs, std::vector<NodeId>& saved) {
  const DimId named[] = {*attrs.get<DimId>("rows"), *attrs.get<DimId>("over"),
                         *attrs.get<DimId>("key")};
  Attention attention(b, operands, attrs);
  if (!b.require_distinct(named) || !attention.check())
    return {};
  Expr x = attention.scores();
  Expr m = row_max(x, attention.over);
  Expr e = exp(x - m);
  Expr s = maximum(sum(e, attention.over), 1);
  saved = {m, s};
  return attention.weighted_values(e / s);
}

Gradients gradient_attention(const GradientArgs& g) {
  Attention attention(g.b, g.inputs, g.attrs);
  Expr m(g.b, g.saved[0]), s(g.b, g.saved[1]);
  return attention.gradients(softmax_of(attention.scores(), m, s), g.dy);
}

}  // namespace

std::span<const OpDef> attention_ops() {
  static const OpDef ops[] = {
      {.name = "attention",
       .summary = "[q, k, v]: softmax(q k / sqrt(key)) v; dims that q and k share are batch dims "
                  "(Vaswani et al. 2017).",
       .min_operands = 3,
       .max_operands = 3,
       .attributes = {{"rows", AttrKind::dim, "the dim of q's positions", true},
                      {"over", AttrKind::dim, "the dim of the positions of k and v", true},
                      {"key", AttrKind::dim, "the dim that q and k are multiplied over", true},
                      {"causal", AttrKind::boolean, "a row sees positions up to its own"},
                      {"window", AttrKind::integer, "a row sees positions less than this away",
                       false, at_least(1)},
                      {"scale", AttrKind::number, "in place of 1 / sqrt(key)"}},
       .build = build_attention,
       .gradient = gradient_attention},
  };
  return ops;
}

}  // namespace mtf
