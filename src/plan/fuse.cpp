#include "plan/fuse.h"

#include <numeric>

#include "plan/fuse_maps.h"
#include "plan/fuse_products.h"
#include "plan/tile.h"
#include "plan/uses.h"

namespace mtf {
namespace {

// The summed dims of a sum that keeps blocks; null for anything else.
std::vector<Reduced>* blocks_of(Instruction& i) {
  if (is(i, "reduce"))
    return &compute(i)->call.reduced;
  if (is(i, "product") || is(i, "scatter_add"))
    return &compute(i)->call.terms[0].reduced;
  return nullptr;
}

// The innermost summed dim whose blocks the result still has.
Reduced* innermost_kept(std::vector<Reduced>& reduced) {
  for (size_t i = reduced.size(); i-- > 0;)
    if (reduced[i].kept.index >= 0)
      return &reduced[i];
  return nullptr;
}

// Folds the blocks of a summed dim in the kernel. Where the split is not exact, a shard may not
// hold whole blocks: then it is cut into as many as divide it.
void fold(const Program& p, const Instruction& sum, Reduced& reduced) {
  reduced.kept = {};
  for (ValueId v : sum.inputs)
    if (const int at = p[v].type.shape.find(reduced.dim); at >= 0)
      reduced.blocks = std::gcd(reduced.blocks, p[v].local_sizes[static_cast<size_t>(at)]);
}

// sum that keeps blocks, then tree_sum of the innermost kept ones: one instruction.
void fold_trees(Program& p) {
  Uses uses(p);
  std::vector<char> dead(p.code.size(), 0);
  for (size_t i = 0; i < p.code.size(); ++i) {
    Instruction& tree = p.code[i];
    if (!is(tree, "tree_sum"))
      continue;
    const int at = uses.maker_of(tree.inputs[0]);
    if (at < 0 || !uses.read_once(tree.inputs[0]))
      continue;
    Instruction& sum = p.code[static_cast<size_t>(at)];
    std::vector<Reduced>* reduced = blocks_of(sum);
    Reduced* innermost = reduced ? innermost_kept(*reduced) : nullptr;
    if (!innermost || innermost->kept != compute(tree)->call.reduced[0].dim)
      continue;
    fold(p, sum, *innermost);
    sum.results = tree.results;
    sum.flops += tree.flops;
    uses.maker[static_cast<size_t>(tree.results[0].index)] = at;
    dead[i] = 1;
  }
  remove(p, dead);
}

// Collects the products under a tree of adds, left to right; false if anything else is met.
bool collect_terms(Program& p, const Uses& uses, ValueId v, DimId block, std::vector<int>& out) {
  const int at = uses.maker_of(v);
  if (at < 0 || !uses.read_once(v))
    return false;
  Instruction& i = p.code[static_cast<size_t>(at)];
  if (is(i, "product")) {
    const std::vector<Reduced>& reduced = compute(i)->call.terms[0].reduced;
    out.push_back(at);
    return compute(i)->call.terms.size() == 1 && !reduced.empty() && reduced[0].kept == block &&
           (reduced.size() == 1 || reduced[1].kept.index < 0);
  }
  if (!is(i, "map") || compute(i)->call.body.steps.size() != 1 ||
      compute(i)->call.body.steps[0].op != Scalar::add)
    return false;
  out.push_back(at);
  return collect_terms(p, uses, i.inputs[0], block, out) &&
         collect_terms(p, uses, i.inputs[1], block, out);
}

// tree_sum of added products: one product of several terms, at the place of the tree.
void merge_terms(Program& p) {
  const Uses uses(p);
  std::vector<char> dead(p.code.size(), 0);
  for (size_t i = 0; i < p.code.size(); ++i) {
    Instruction& tree = p.code[i];
    std::vector<int> parts;
    if (!is(tree, "tree_sum") ||
        !collect_terms(p, uses, tree.inputs[0], compute(tree)->call.reduced[0].dim, parts) ||
        parts.size() < 2)
      continue;
    Instruction merged = tree;
    merged.inputs.clear();
    Compute& all = *compute(merged);
    all.call = {};
    all.call.kernel = "product";
    all.in_place = false;
    all.label = "contract";
    for (int at : parts) {
      Instruction& part = p.code[static_cast<size_t>(at)];
      merged.flops += part.flops;
      merged.unique_flops += part.unique_flops;
      dead[static_cast<size_t>(at)] = 1;
      if (!is(part, "product"))
        continue;
      Term term = compute(part)->call.terms[0];
      fold(p, part, term.reduced[0]);
      term.a += static_cast<int>(merged.inputs.size());
      term.b += static_cast<int>(merged.inputs.size());
      all.call.terms.push_back(std::move(term));
      merged.inputs.insert(merged.inputs.end(), part.inputs.begin(), part.inputs.end());
    }
    tree = std::move(merged);
  }
  remove(p, dead);
}

// Folds in a sum the kept blocks that its shard has no whole ones of, and all those inside them,
// which come before. Returns their dims.
std::vector<DimId> fold_broken_blocks(const Program& p, Instruction& sum) {
  std::vector<DimId> folded;
  std::vector<Reduced>* reduced = blocks_of(sum);
  if (!reduced)
    return folded;
  for (Reduced& r : *reduced) {
    if (r.kept.index < 0)
      continue;
    Reduced whole = r;
    fold(p, sum, whole);
    if (whole.blocks == r.blocks && folded.empty())
      continue;
    folded.push_back(r.kept);
    r = whole;
  }
  return folded;
}

// Where a split is not exact and blocks are kept all the same (other sums come before their tree,
// or they are accumulated), a shard may hold no whole blocks. It then sums what it has, and each
// block gets an equal part: halves of a number add up to it without a rounding.
void spread_broken_blocks(Program& p) {
  std::vector<Instruction> code;
  for (Instruction& i : p.code) {
    const std::vector<DimId> folded = fold_broken_blocks(p, i);
    code.push_back(std::move(i));
    if (folded.empty())
      continue;
    const ValueId blocks = code.back().results[0];
    Value sum = p[blocks];
    double parts = 1;
    for (DimId d : folded) {
      const int at = sum.type.shape.find(d);
      parts *= static_cast<double>(sum.local_sizes[static_cast<size_t>(at)]);
      sum.type.shape.dims.erase(sum.type.shape.dims.begin() + at);
      sum.layout.split.erase(sum.layout.split.begin() + at);
      sum.local_sizes.erase(sum.local_sizes.begin() + at);
    }
    const DType type = sum.type.dtype;
    p.values.push_back(std::move(sum));
    code.back().results[0] = {static_cast<int32_t>(p.values.size()) - 1};
    Compute spread;
    spread.call.kernel = "map";
    spread.call.body = {{{Scalar::scale, type, 0, -1, -1, 1 / parts}}, {1}};
    spread.label = "scale";
    code.push_back(
        {spread, code.back().results, {blocks}, code.back().origin, code.back().phase, 0, 0});
  }
  p.code = std::move(code);
}

}  // namespace

void fuse(Program& p) {
  fold_trees(p);
  merge_terms(p);
  spread_broken_blocks(p);
  fuse_maps(p);
  fuse_products(p);
  tile(p);
}

}  // namespace mtf
