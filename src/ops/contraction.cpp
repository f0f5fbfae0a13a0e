// Products summed over named dims: the primitive `contract` (blocks kept as dims), the tree over
// blocks, and `einsum` for specs.
#include <fmt/format.h>

#include <algorithm>

#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Dims = std::vector<DimId>;

Role reduced_over(const Graph&, const Node& node, DimId d) {
  return contains(*node.attrs.get<Dims>("over"), d) ? Role::reduced : Role::kept;
}

// Result dims: block dims (outer first), then the kept dims as asked.
std::optional<Type> infer_contract(Builder& b, std::span<const NodeId>, Attrs& attrs) {
  Type type;
  type.dtype = b.numerics.statistics();
  for (const auto& [d, block] : *attrs.get<DimPairs>("blocks"))
    type.shape.dims.push_back(block);
  for (DimId d : *attrs.get<Dims>("to"))
    type.shape.dims.push_back(d);
  return type;
}

std::optional<Type> infer_tree_sum(Builder& b, std::span<const NodeId> x, Attrs& attrs) {
  return Type{{dims_without(b.shape(x[0]).dims, *attrs.get<Dims>("over"))}, b.dtype(x[0])};
}

// The dims that stand in exactly one operand, in order of first appearance.
Dims default_result(Builder& b, std::span<const NodeId> operands) {
  Dims all, result;
  for (NodeId x : operands)
    for (DimId d : b.shape(x).dims)
      all.push_back(d);
  for (DimId d : all)
    if (std::count(all.begin(), all.end(), d) == 1)
      result.push_back(d);
  if (contains(all, b.batch) && !contains(result, b.batch))
    b.error(Code::model_batch_summed,
            fmt::format("sums '{}' away, because it stands in several operands; say `to: [...]` if "
                        "that is meant, or to keep it",
                        b.graph[b.batch].name));
  return result;
}

// Dims of the product of the pair (left, right) that `to` or an operand after `right` has.
Dims needed_later(Builder& b, NodeId left, std::span<const NodeId> from_right, const Dims& to) {
  Dims kept;
  auto needed = [&](DimId d) {
    bool later = contains(to, d);
    for (NodeId x : from_right.subspan(1))
      later = later || b.shape(x).has(d);
    return later && !contains(kept, d);
  };
  for (NodeId x : {left, from_right[0]})
    for (DimId d : b.shape(x).dims)
      if (needed(d))
        kept.push_back(d);
  return kept;
}

bool check_result(Builder& b, std::span<const NodeId> operands, const Dims& to) {
  bool good = true;
  for (size_t i = 0; i < to.size(); ++i) {
    bool found = std::any_of(operands.begin(), operands.end(),
                             [&](NodeId x) { return b.shape(x).has(to[i]); });
    if (!found)
      b.error_at(to[i], Code::model_shape,
                 fmt::format("no operand has the dim '{}' of the result", b.graph[to[i]].name),
                 b.suggest_dim(to[i], operands));
    bool twice = std::count(to.begin(), to.end(), to[i]) > 1;
    if (twice)
      b.error_at(to[i], Code::model_shape,
                 fmt::format("'{}' stands twice in the result", b.graph[to[i]].name));
    good = good && found && !twice;
  }
  for (NodeId x : operands)
    if (!is_float(b.dtype(x))) {
      b.error(Code::model_dtype, fmt::format("operands must be floating point; one is {} {}",
                                             name_of(b.dtype(x)), b.graph.show(b.shape(x))));
      good = false;
    }
  return good;
}

// Saved: the products of the pairs before the last.
NodeId build_einsum(Builder& b, std::span<const NodeId> x, Attrs& attrs,
                    std::vector<NodeId>& saved) {
  if (!attrs.find("to"))
    attrs.set("to", default_result(b, x));
  const Dims to = *attrs.get<Dims>("to");
  if (!check_result(b, x, to))
    return {};
  NodeId left = x[0];
  for (size_t i = 1; i < x.size(); ++i) {
    bool last = i + 1 == x.size();
    NodeId product = b.einsum(left, x[i], last ? to : needed_later(b, left, x.subspan(i), to));
    left = b.cast(product, b.numerics.compute);
    if (!last)
      saved.push_back(left);
  }
  return left;
}

// dy times `other`, summed to the dims of `operand`; dims that the operand alone has are repeated.
NodeId gradient_of_pair(Builder& b, NodeId dy, NodeId other, NodeId operand) {
  Dims dims;
  for (DimId d : b.shape(operand).dims)
    if (b.shape(dy).has(d) || b.shape(other).has(d))
      dims.push_back(d);
  return b.broadcast(b.einsum(dy, other, dims), b.shape(operand));
}

std::vector<NodeId> gradient_einsum(const GradientArgs& g) {
  std::vector<NodeId> gradients(g.inputs.size());
  NodeId dy = g.dy;
  for (size_t i = g.inputs.size() - 1; i > 0; --i) {
    NodeId left = i == 1 ? g.inputs[0] : g.saved[i - 2];
    if (g.wanted[i])
      gradients[i] = gradient_of_pair(g.b, dy, left, g.inputs[i]);
    bool more = std::any_of(g.wanted.begin(), g.wanted.begin() + static_cast<int64_t>(i),
                            [](bool w) { return w; });
    if (!more)
      return gradients;
    dy = gradient_of_pair(g.b, dy, g.inputs[i], left);
    if (i > 1)
      dy = g.b.cast(dy, g.b.numerics.compute);
  }
  gradients[0] = dy;
  return gradients;
}

}  // namespace

std::span<const OpDef> contraction_ops() {
  static const OpDef ops[] = {
      {.name = "contract",
       .summary =
           "The product of two operands, summed over dims in canonical blocks that it keeps.",
       .min_operands = 2,
       .max_operands = 2,
       .infer = infer_contract,
       .role = reduced_over,
       .internal = true,
       .flops_per_point = 2,
       .kernel = "product"},
      {.name = "tree_sum",
       .summary = "Folds a block dim by the binary tree over the block index.",
       .infer = infer_tree_sum,
       .role = reduced_over,
       .internal = true,
       .order_free = true,
       .linear = true,
       .flops_per_point = 0,
       .kernel = "tree_sum"},
      {.name = "einsum",
       .summary = "The product of its operands, summed over the dims that the result lacks; more "
                  "than two operands are pairs from the left.",
       .min_operands = 2,
       .max_operands = -1,
       .attributes = {{"to", AttrKind::dims,
                       "dims of the result; by default those that stand in exactly one operand"}},
       .build = build_einsum,
       .gradient = gradient_einsum},
  };
  return ops;
}

}  // namespace mtf
