#include "model/foreign_ops.h"

#include <algorithm>
#include <iterator>

namespace mtf {
namespace {

struct Synonym {
  std::string_view theirs, ours;
};
constexpr Synonym synonyms[] = {{"matmul", "einsum"},
                                {"mm", "einsum"},
                                {"bmm", "einsum"},
                                {"dot", "einsum"},
                                {"dot_general", "einsum"},
                                {"linear", "einsum"},
                                {"dense", "einsum"},
                                {"gemm", "einsum"},
                                {"mul", "multiply"},
                                {"sub", "subtract"},
                                {"div", "divide"},
                                {"pow", "power"},
                                {"mod", "remainder"},
                                {"neg", "negative"},
                                {"swish", "silu"},
                                {"sum", "reduce_sum"},
                                {"mean", "reduce_mean"},
                                {"avg", "reduce_mean"},
                                {"amax", "reduce_max"},
                                {"amin", "reduce_min"},
                                {"all", "reduce_all"},
                                {"any", "reduce_any"},
                                {"mse", "mean_squared_error"},
                                {"mse_loss", "mean_squared_error"},
                                {"softmax_cross_entropy", "cross_entropy"},
                                {"binary_cross_entropy", "sigmoid_cross_entropy"},
                                {"lookup", "embedding"},
                                {"take", "gather"},
                                {"index_select", "gather"},
                                {"permute", "transpose"},
                                {"swapaxes", "transpose"},
                                {"view", "reshape"},
                                {"flatten", "reshape"},
                                {"cat", "concat"},
                                {"concatenate", "concat"},
                                {"expand", "broadcast"},
                                {"tile", "broadcast"},
                                {"broadcast_to", "broadcast"},
                                {"astype", "cast"},
                                {"convert", "cast"},
                                {"clamp", "clip"},
                                {"select", "where"},
                                {"arange", "iota"},
                                {"range", "iota"},
                                {"detach", "stop_gradient"},
                                {"scaled_dot_product_attention", "attention"},
                                {"rotary", "rope"},
                                {"self_attention", "multi_head_attention"},
                                {"mha", "multi_head_attention"},
                                {"gqa", "grouped_query_attention"},
                                {"ffn", "dense_feed_forward"},
                                {"feed_forward", "dense_feed_forward"},
                                {"mlp", "dense_feed_forward"},
                                {"swiglu", "gated_feed_forward"}};

}  // namespace

std::string_view op_meant_by(std::string_view foreign) {
  const auto* found = std::find_if(std::begin(synonyms), std::end(synonyms),
                                   [&](const Synonym& s) { return s.theirs == foreign; });
  return found == std::end(synonyms) ? std::string_view() : found->ours;
}

}  // namespace mtf
