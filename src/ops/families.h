// The families of ops, each a table in the file of its name; the registry joins them.
#pragma once

#include "ops/op.h"

namespace mtf {

std::span<const OpDef> leaf_ops();
std::span<const OpDef> contraction_ops();
std::span<const OpDef> elementwise_ops();
std::span<const OpDef> activation_ops();
std::span<const OpDef> reduction_ops();
std::span<const OpDef> softmax_ops();
std::span<const OpDef> order_ops();
std::span<const OpDef> norm_ops();
std::span<const OpDef> loss_ops();
std::span<const OpDef> attention_ops();
std::span<const OpDef> position_ops();
std::span<const OpDef> index_ops();
std::span<const OpDef> shape_ops();
std::span<const OpDef> random_ops();

}  // namespace mtf
