// All ops in the order of the families, found by name.
#include <unordered_map>

#include "ops/families.h"

namespace mtf {

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> ops = [] {
    std::vector<const OpDef*> list;
    for (auto family : {leaf_ops(), contraction_ops(), elementwise_ops(), activation_ops(),
                        reduction_ops(), softmax_ops(), order_ops(), norm_ops(), loss_ops(),
                        attention_ops(), position_ops(), index_ops(), shape_ops(), random_ops()})
      for (const OpDef& op : family)
        list.push_back(&op);
    return list;
  }();
  return ops;
}

const OpDef* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpDef*> by_name = [] {
    std::unordered_map<std::string_view, const OpDef*> map;
    for (const OpDef* op : all_ops())
      map.emplace(op->name, op);
    return map;
  }();
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace mtf
