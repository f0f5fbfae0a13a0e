// All ops in the order of the families, found by name.
#include <unordered_map>

#include "ops/families.h"

namespace mtf {

std::span<const OpFamily> op_families() {
  static const OpFamily families[] = {{"leaves", leaf_ops()},
                                      {"contraction", contraction_ops()},
                                      {"elementwise", elementwise_ops()},
                                      {"activations", activation_ops()},
                                      {"reduction", reduction_ops()},
                                      {"softmax", softmax_ops()},
                                      {"order", order_ops()},
                                      {"normalisation", norm_ops()},
                                      {"loss", loss_ops()},
                                      {"attention", attention_ops()},
                                      {"positions", position_ops()},
                                      {"index", index_ops()},
                                      {"shape", shape_ops()},
                                      {"random", random_ops()}};
  return families;
}

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> ops = [] {
    std::vector<const OpDef*> list;
    for (const OpFamily& family : op_families())
      for (const OpDef& op : family.ops)
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
