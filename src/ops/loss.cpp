// Losses: a sum and a count of valid entries, in f32 (f64); the value is their quotient. What is
// differentiated is the sum, so it is a composite of its own.
#include <fmt/format.h>

#include "ops/families.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Dims = std::vector<DimId>;
using Operands = std::span<const NodeId>;
using Gradients = std::vector<NodeId>;
using Saved = std::vector<NodeId>;

// The quotient; the graph's loss is then this one, and `saved` holds sum and count.
NodeId quotient(Builder& b, NodeId sum, NodeId count, Saved& saved) {
  b.graph.loss_sum = sum;
  b.graph.loss_count = count;
  saved = {sum, count};
  return b.add("divide", {sum, count});
}

// The sum over all dims of x, without the examples that do not count.
Expr counted_sum(Expr x) {
  const Expr counted(x.builder(), x.builder().counted_examples(x));
  return sum(counted ? where(counted, x, 0.0) : x, x.shape().dims);
}

// How many elements of x's dims, `without` left out, that sum is over.
NodeId element_count(Builder& b, NodeId x, std::span<const DimId> without = {}) {
  const Dims dims = dims_without(b.shape(x).dims, without);
  const auto all = static_cast<double>(b.graph.true_elements({dims}));
  const Expr counted(b, b.counted_examples(x));
  if (!counted)
    return b.constant(all, b.numerics.statistics());
  return sum(wide(counted), {b.batch}) * (all / static_cast<double>(b.graph[b.batch].true_size()));
}

// ---- cross_entropy: [logits, labels], labels i32 ids or a distribution over the vocabulary
// -------

struct CrossEntropy {
  CrossEntropy(Builder& builder, Operands operands, const Attrs& attrs)
      : b(builder),
        x(wide(Expr(builder, operands[0]))),
        labels(builder, operands[1]),
        vocab(*attrs.get<DimId>("over")),
        size(static_cast<double>(builder.graph[vocab].true_size())),
        smoothing(attrs.get_or("smoothing", 0.0)),
        z_loss(attrs.get_or("z_loss", 0.0)),
        ignore(attrs.get_or<int64_t>("ignore", -1)) {}

  bool has_ids() const { return labels.dtype() == DType::i32; }

  // Labels below 0 and the ignored one are not counted.
  Expr valid() const {
    const Expr given = valid_labels(labels, ignore);
    const Expr counted(b, b.counted_examples(labels));
    return counted ? both(given, counted) : given;
  }

  // What logits of a token are to be drawn to: 1 at the label, smoothed over the vocabulary.
  Expr target() const {
    Expr t = has_ids() ? cast(equal(labels, iota(b, vocab, DType::i32)), x.dtype()) : wide(labels);
    return smoothing == 0 ? t : t * (1 - smoothing) + smoothing / size;
  }

  // x - m at the label, averaged as the smoothing says.
  Expr label_score(Expr m) const {
    Expr t = has_ids() ? Expr(b, b.add("gather", {x, labels}, {{{"over", vocab}}})) - m
                       : sum(wide(labels) * (x - m), {vocab});
    return smoothing == 0 ? t : t * (1 - smoothing) + sum(x - m, {vocab}) * (smoothing / size);
  }

  Expr loss(Expr m, Expr s) const {
    Expr token = log(s) - label_score(m);
    if (z_loss == 0)
      return token;
    Expr z = log(s) + m;
    return token + z * z * z_loss;
  }

  // d loss / d x of each token.
  Expr slope(Expr m, Expr s) const {
    Expr p = exp(x - m) / s;
    if (z_loss != 0)
      p = p * ((log(s) + m) * (2 * z_loss) + 1.0);
    return p - target();
  }

  Builder& b;
  Expr x, labels;
  DimId vocab;
  double size, smoothing, z_loss;
  int64_t ignore;
};

bool check_cross_entropy(Builder& b, Operands operands, const Attrs& attrs) {
  const DimId vocab = *attrs.get<DimId>("over");
  if (!b.require_dims(operands[0], {&vocab, 1}))
    return false;
  const DType type = b.dtype(operands[1]);
  if (type != DType::i32 && !is_float(type)) {
    b.error(Code::model_dtype, fmt::format("labels are i32 ids or a floating point distribution "
                                           "over '{}', not {}",
                                           b.graph[vocab].name, name_of(type)));
    return false;
  }
  Dims expected = b.shape(operands[0]).dims;
  if (type == DType::i32)
    expected = dims_without(expected, {&vocab, 1});
  const Dims labels = b.shape(operands[1]).dims;
  if (labels.size() == expected.size() && dims_without(labels, expected).empty())
    return true;
  b.error(Code::model_shape,
          fmt::format("logits {} need labels {}, not {}", b.graph.show(b.shape(operands[0])),
                      b.graph.show({expected}), b.graph.show({labels})),
          type == DType::i32 ? Help() : Help("labels that are ids have `dtype: i32`"));
  return false;
}

NodeId build_cross_entropy_sum(Builder& b, Operands operands, Attrs& attrs, Saved& saved) {
  CrossEntropy loss(b, operands, attrs);
  Expr m = max(loss.x, {loss.vocab});
  Expr s = sum(exp(loss.x - m), {loss.vocab});
  saved = {m, s};
  Expr token = loss.loss(m, s);
  return loss.has_ids() ? sum(where(loss.valid(), token, 0.0), token.shape().dims)
                        : counted_sum(token);
}

Gradients gradient_cross_entropy_sum(const GradientArgs& g) {
  CrossEntropy loss(g.b, g.inputs, g.attrs);
  Expr m(g.b, g.saved[0]), s(g.b, g.saved[1]), dy(g.b, g.dy);
  Expr dtoken = loss.has_ids() ? where(loss.valid(), dy, 0.0) : dy;
  return {dtoken * loss.slope(m, s), {}};
}

NodeId build_cross_entropy(Builder& b, Operands operands, Attrs& attrs, Saved& saved) {
  if (!check_cross_entropy(b, operands, attrs))
    return {};
  NodeId total = b.add("cross_entropy_sum", {operands[0], operands[1]}, attrs);
  CrossEntropy loss(b, operands, attrs);
  NodeId count = loss.has_ids()
                     ? NodeId(sum(cast(loss.valid(), loss.x.dtype()), loss.labels.shape().dims))
                     : element_count(b, operands[0], {&loss.vocab, 1});
  return quotient(b, total, count, saved);
}

// ---- the others -----------------------------------------------------------------------------

bool require_same_dims(Builder& b, Operands x) {
  if (b.shape(x[0]).dims.size() == b.shape(x[1]).dims.size() &&
      dims_without(b.shape(x[0]).dims, b.shape(x[1]).dims).empty())
    return true;
  b.error(Code::model_shape, fmt::format("the operands {} and {} must have the same dims",
                                         b.graph.show(b.shape(x[0])), b.graph.show(b.shape(x[1]))));
  return false;
}

NodeId build_mean_squared_error(Builder& b, Operands x, Attrs&, Saved& saved) {
  if (!require_same_dims(b, x))
    return {};
  Expr difference = wide(Expr(b, x[0])) - wide(Expr(b, x[1]));
  return quotient(b, counted_sum(difference * difference), element_count(b, x[0]), saved);
}

// softplus(x) - x t, which is -t log sigmoid(x) - (1 - t) log(1 - sigmoid(x)).
NodeId build_sigmoid_cross_entropy(Builder& b, Operands operands, Attrs&, Saved& saved) {
  if (!require_same_dims(b, operands))
    return {};
  Expr x = wide(Expr(b, operands[0])), t = wide(Expr(b, operands[1]));
  Expr total = counted_sum(apply("softplus", x) - x * t);
  return quotient(b, total, element_count(b, operands[0]), saved);
}

}  // namespace

std::span<const OpDef> loss_ops() {
  static const std::vector<AttrDef> attributes = {
      {"over", AttrKind::dim, "the dim of the classes", true},
      {"smoothing", AttrKind::number, "the part of each label that is spread over all classes",
       false, below_one()},
      {"z_loss", AttrKind::number, "times the square of the logits' logsumexp is added", false,
       at_least(0)},
      {"ignore", AttrKind::integer, "a label that is not counted; those below 0 never are"}};
  static const OpDef ops[] = {
      {.name = "cross_entropy_sum",
       .summary = "The sum of cross_entropy over valid tokens.",
       .min_operands = 2,
       .max_operands = 2,
       .attributes = attributes,
       .build = build_cross_entropy_sum,
       .gradient = gradient_cross_entropy_sum,
       .internal = true},
      {.name = "cross_entropy",
       .summary =
           "[logits, labels]: the mean over valid tokens of -log softmax at the label; labels "
           "are ids or distributions (which sum to 1).",
       .min_operands = 2,
       .max_operands = 2,
       .attributes = attributes,
       .build = build_cross_entropy},
      {.name = "mean_squared_error",
       .summary = "The mean over all elements of the squared difference.",
       .min_operands = 2,
       .max_operands = 2,
       .build = build_mean_squared_error},
      {.name = "sigmoid_cross_entropy",
       .summary = "[logits, labels]: the mean over all elements of the cross entropy of "
                  "independent yes-no labels.",
       .min_operands = 2,
       .max_operands = 2,
       .build = build_sigmoid_cross_entropy},
  };
  return ops;
}

}  // namespace mtf
