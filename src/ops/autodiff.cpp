#include "ops/autodiff.h"

#include <algorithm>

#include "base/check.h"
#include "ops/blocks.h"

namespace mtf {
namespace {

// One gradient that one use of a value gives it.
struct Contribution {
  int32_t user = 0, slot = 0;  // the node (result of a composite) that uses it, as which operand
  NodeId gradient;
  bool own = false;  // made for this value alone, not passed on by an add or a rename
};

struct Use {  // a primitive node or a composite, as the walk sees it
  const OpDef* op;
  std::vector<NodeId> inputs, saved;
  Attrs attrs;
};

class Differentiator {
 public:
  Differentiator(Builder& b, NodeId sum, std::span<const NodeId> wrt)
      : b_(b),
        size_(static_cast<size_t>(sum.index) + 1),
        needed_(size_),
        contributions_(size_),
        gradients_(size_),
        composite_of_(size_, -1) {
    for (NodeId w : wrt)
      if (static_cast<size_t>(w.index) < size_)
        needed_[index(w)] = true;
    for (size_t i = 0; i < size_; ++i)
      for (NodeId x : b_.graph.nodes[i].inputs)
        needed_[i] = needed_[i] || needed_[index(x)];
    // The outermost composite of a result was recorded first.
    const std::vector<Composite>& all = b_.graph.composites;
    for (size_t c = all.size(); c-- > 0;)
      if (all[c].op->gradient && all[c].result.index >= 0 && index(all[c].result) < size_)
        composite_of_[index(all[c].result)] = static_cast<int32_t>(c);
    contributions_[size_ - 1].push_back({sum.index, 0, b_.constant(1, b_.dtype(sum)), false});
  }

  void run() {
    for (size_t i = size_; i-- > 0;)
      if (needed_[i] && !contributions_[i].empty())
        visit({static_cast<int32_t>(i)});
  }

  NodeId gradient(NodeId x) const { return index(x) < size_ ? gradients_[index(x)] : NodeId{}; }

 private:
  static size_t index(NodeId id) { return static_cast<size_t>(id.index); }

  Use use_of(NodeId y) const {
    if (int32_t c = composite_of_[index(y)]; c >= 0) {
      const Composite& made = b_.graph.composites[static_cast<size_t>(c)];
      return {made.op, made.inputs, made.saved, made.attrs};
    }
    return {b_[y].op, b_[y].inputs, {}, b_[y].attrs};
  }

  void visit(NodeId y) {
    b_.origin = b_[y].origin;
    const Use use = use_of(y);
    const NodeId dy = gradients_[index(y)] = total(y);
    if (!use.op->gradient)
      return;
    GradientArgs args{b_, dy, y, use.inputs, use.attrs, use.saved, {}};
    for (NodeId x : use.inputs)
      args.wanted.push_back(needed_[index(x)]);
    const auto first_made = static_cast<int32_t>(b_.graph.nodes.size());
    std::vector<NodeId> gradients = use.op->gradient(args);
    for (size_t k = 0; k < gradients.size(); ++k)
      if (gradients[k].index >= 0 && args.wanted[k])
        contributions_[index(use.inputs[k])].push_back(
            {y.index, static_cast<int32_t>(k), gradients[k], gradients[k].index >= first_made});
  }

  NodeId total(NodeId x) {
    std::vector<Contribution>& terms = contributions_[index(x)];
    std::stable_sort(terms.begin(), terms.end(), [](const Contribution& a, const Contribution& c) {
      return std::pair(a.user, a.slot) < std::pair(c.user, c.slot);
    });
    NodeId sum;
    for (const std::vector<NodeId>& group : groups(terms)) {
      NodeId term = group.size() == 1 ? group[0] : added_per_block(group);
      sum = sum.index < 0 ? term : b_.add("add", {sum, term});
    }
    // A cast of a parameter hands its gradient on as it is: parameter gradients are not rounded.
    if (b_[x].op->name != "cast")
      sum = b_.cast(sum, b_.dtype(x));
    Node& last = b_.graph[sum];
    if (last.phase == Phase::backward && last.gradient_of.index < 0)
      last.gradient_of = x;
    return sum;
  }

  // Products made for this value alone that keep blocks of the same outermost dim go together, at
  // the place of the first; every other term stands alone.
  std::vector<std::vector<NodeId>> groups(const std::vector<Contribution>& terms) const {
    std::vector<std::vector<NodeId>> out;
    std::vector<std::pair<DimId, size_t>> open;  // outermost dim -> group
    for (const Contribution& t : terms) {
      DimId outer = t.own ? outermost_dim(t.gradient) : DimId{};
      auto found = std::find_if(open.begin(), open.end(),
                                [outer](const auto& o) { return o.first == outer; });
      if (outer.index >= 0 && found != open.end()) {
        out[found->second].push_back(t.gradient);
        continue;
      }
      if (outer.index >= 0)
        open.emplace_back(outer, out.size());
      out.push_back({t.gradient});
    }
    return out;
  }

  // The product under a chain of tree sums; index -1 if `x` is not such a chain.
  NodeId product_under(NodeId x) const {
    if (b_[x].op->name != "tree_sum")
      return {};
    while (b_[x].op->name == "tree_sum")
      x = b_[x].inputs[0];
    return b_[x].op->name == "contract" ? x : NodeId{};
  }

  const DimPairs& blocks_of(NodeId product) const {
    return *b_[product].attrs.get<DimPairs>("blocks");
  }

  DimId outermost_dim(NodeId x) const {
    NodeId product = product_under(x);
    return product.index < 0 ? DimId{} : blocks_of(product)[0].first;
  }

  // Each product folded to its outermost block dim, added in order, then one tree over that dim.
  NodeId added_per_block(const std::vector<NodeId>& group) {
    const std::pair<DimId, DimId> outer = blocks_of(product_under(group[0]))[0];
    NodeId sum = b_[group[0]].inputs[0];
    for (size_t i = 1; i < group.size(); ++i)
      sum = b_.add("add", {sum, folded_to(group[i], outer)});
    return b_.fold(sum, {outer});
  }

  NodeId folded_to(NodeId x, std::pair<DimId, DimId> outer) {
    const NodeId product = product_under(x);
    if (blocks_of(product)[0] == outer)
      return b_[x].inputs[0];
    // Another count of blocks: the first term's counts, so the product is made anew.
    using Dims = std::vector<DimId>;
    const std::vector<NodeId> operands = b_[product].inputs;
    const Dims over = *b_[product].attrs.get<Dims>("over"), to = *b_[product].attrs.get<Dims>("to");
    const DimPairs blocks = with_outermost(over, outer);
    NodeId made = b_.contract(operands[0], operands[1], over, to, blocks);
    return b_.fold(made, DimPairs(blocks.begin() + 1, blocks.end()));
  }

  // The blocks of a product over `over` when the dim of its outermost block has outer's count.
  DimPairs with_outermost(const std::vector<DimId>& over, std::pair<DimId, DimId> outer) {
    if (over[0] == outer.first)
      return product_blocks(b_, over, b_.graph[outer.second].size);
    return {outer};
  }

  Builder& b_;
  size_t size_;  // nodes up to the sum
  std::vector<bool> needed_;
  std::vector<std::vector<Contribution>> contributions_;
  std::vector<NodeId> gradients_;
  std::vector<int32_t> composite_of_;
};

}  // namespace

std::vector<NodeId> differentiate(Builder& b, NodeId sum, std::span<const NodeId> wrt) {
  CHECK(b.shape(sum).dims.empty(), "only a scalar is differentiated");
  const Origin origin = b.origin;
  const Phase phase = b.phase;
  b.phase = Phase::backward;
  Differentiator d(b, sum, wrt);
  d.run();
  b.origin = origin;
  b.phase = phase;
  std::vector<NodeId> gradients;
  for (NodeId w : wrt)
    gradients.push_back(d.gradient(w));
  return gradients;
}

}  // namespace mtf
