// Leaves: what comes from outside (inputs, parameters, state) and scalar constants.
#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

std::optional<Type> infer_leaf(Builder&, std::span<const NodeId>, Attrs& attrs) {
  Type type{{*attrs.get<std::vector<DimId>>("dims")}, *attrs.get<DType>("dtype")};
  attrs = Attrs{{{"name", *attrs.get<std::string>("name")}}};
  return type;
}

std::optional<Type> infer_constant(Builder& b, std::span<const NodeId>, Attrs& attrs) {
  DType type = attrs.get_or("dtype", b.numerics.compute);
  attrs = Attrs{{{"immediate", *attrs.get<double>("value")}}};
  return Type{{}, type};
}

OpDef leaf(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .min_operands = 0,
          .max_operands = 0,
          .infer = infer_leaf,
          .internal = true,
          .flops_per_point = 0};
}

}  // namespace

std::span<const OpDef> leaf_ops() {
  static const OpDef ops[] = {
      leaf("input", "A tensor of the batch, or a number given to each step."),
      leaf("parameter", "A tensor that is trained."),
      leaf("state", "A tensor kept from step to step: optimizer state, caches."),
      {.name = "constant",
       .summary = "A number.",
       .min_operands = 0,
       .max_operands = 0,
       .attributes = {{"value", AttrKind::number, "the number", true},
                      {"dtype", AttrKind::dtype, "its dtype; the compute type by default"}},
       .infer = infer_constant,
       .flops_per_point = 0,
       .kernel = "map",
       .scalar = Scalar::constant},
  };
  return ops;
}

}  // namespace mtf
