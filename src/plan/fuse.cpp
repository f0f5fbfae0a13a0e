#include "plan/fuse.h"

#include <numeric>

#include "plan/fuse_maps.h"
#include "plan/uses.h"

namespace mtf {
namespace {

Compute* compute(Instruction& i) { return std::get_if<Compute>(&i.action); }
bool is(Instruction& i, std::string_view kernel) {
  return compute(i) && compute(i)->call.kernel == kernel;
}

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

// Folds the blocks of a summed dim in the kernel. Where the split is not exact, a shard may not hold
// whole blocks: then it is cut into as many as divide it.
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
  if (!is(i, "map") || compute(i)->call.body.steps.size() != 1 || compute(i)->call.body.steps[0].op != Scalar::add)
    return false;
  out.push_back(at);
  return collect_terms(p, uses, i.inputs[0], block, out) && collect_terms(p, uses, i.inputs[1], block, out);
}

// tree_sum of added products: one product of several terms, at the place of the tree.
void merge_terms(Program& p) {
  const Uses uses(p);
  std::vector<char> dead(p.code.size(), 0);
  for (size_t i = 0; i < p.code.size(); ++i) {
    Instruction& tree = p.code[i];
    std::vector<int> parts;
    if (!is(tree, "tree_sum") ||
        !collect_terms(p, uses, tree.inputs[0], compute(tree)->call.reduced[0].dim, parts) || parts.size() < 2)
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

}  // namespace

void fuse(Program& p) {
  fold_trees(p);
  merge_terms(p);
  fuse_maps(p);
}

}  // namespace mtf
