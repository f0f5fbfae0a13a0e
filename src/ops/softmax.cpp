// softmax and its logarithms. Computed in f32 (f64); row maximum and sum are saved, all else is
// recomputed in the gradient.
#include "ops/softmax.h"

#include "ops/families.h"

namespace mtf {

Expr row_max(Expr x, const std::vector<DimId>& over) {
  constexpr double lowest_f32 = -0x1.fffffep127;
  return maximum(max(x, over), lowest_f32);
}
Expr row_sum(Expr x, Expr m, const std::vector<DimId>& over) {
  return maximum(sum(exp(x - m), over), 1);
}
Expr softmax_of(Expr x, Expr m, Expr s) {
  return exp(x - m) / s;
}
Expr softmax_gradient(Expr y, Expr dy, const std::vector<DimId>& over) {
  return y * (dy - sum(y * dy, over));
}

namespace {

using Dims = std::vector<DimId>;
using Operands = std::span<const NodeId>;
using Gradients = std::vector<NodeId>;
using Saved = std::vector<NodeId>;

struct Row {  // a call of one of the ops
  Row(Builder& b, NodeId operand, const Attrs& attrs)
      : x(wide(Expr(b, operand))), over(*attrs.get<Dims>("over")) {}
  Expr x;
  Dims over;
};

struct SavedRow : Row {
  explicit SavedRow(const GradientArgs& g)
      : Row(g.b, g.inputs[0], g.attrs),
        m(g.b, g.saved[0]),
        s(g.b, g.saved[1]),
        dy(wide(Expr(g.b, g.dy))) {}
  Expr m, s, dy;
};

NodeId build_softmax(Builder& b, Operands x, Attrs& attrs, Saved& saved) {
  if (!b.require_dims(x[0], *attrs.get<Dims>("over")))
    return {};
  Row row(b, x[0], attrs);
  Expr m = row_max(row.x, row.over);
  Expr e = exp(row.x - m);
  Expr s = maximum(sum(e, row.over), 1);
  saved = {m, s};
  return cast(e / s, b.dtype(x[0]));
}

Gradients gradient_softmax(const GradientArgs& g) {
  SavedRow row(g);
  return {softmax_gradient(softmax_of(row.x, row.m, row.s), row.dy, row.over)};
}

NodeId build_log_softmax(Builder& b, Operands x, Attrs& attrs, Saved& saved) {
  if (!b.require_dims(x[0], *attrs.get<Dims>("over")))
    return {};
  Row row(b, x[0], attrs);
  Expr m = row_max(row.x, row.over), s = row_sum(row.x, m, row.over);
  saved = {m, s};
  return cast((row.x - m) - log(s), b.dtype(x[0]));
}

Gradients gradient_log_softmax(const GradientArgs& g) {
  SavedRow row(g);
  return {row.dy - softmax_of(row.x, row.m, row.s) * sum(row.dy, row.over)};
}

NodeId build_logsumexp(Builder& b, Operands x, Attrs& attrs, Saved& saved) {
  if (!b.require_dims(x[0], *attrs.get<Dims>("over")))
    return {};
  Row row(b, x[0], attrs);
  Expr m = row_max(row.x, row.over);
  Expr s = sum(exp(row.x - m), row.over);
  saved = {m, s};
  return cast(log(s) + m, b.dtype(x[0]));
}

Gradients gradient_logsumexp(const GradientArgs& g) {
  SavedRow row(g);
  return {softmax_of(row.x, row.m, row.s) * row.dy};
}

OpDef over_rows(std::string_view name, std::string_view summary, decltype(OpDef::build) build,
                decltype(OpDef::gradient) gradient) {
  return {.name = name,
          .summary = summary,
          .attributes = {{"over", AttrKind::dims, "the dims of a row", true}},
          .build = build,
          .gradient = gradient};
}

}  // namespace

std::span<const OpDef> softmax_ops() {
  static const OpDef ops[] = {
      over_rows("softmax", "exp(x) divided by its sum; 0 in a row that is all -infinity.",
                build_softmax, gradient_softmax),
      over_rows("log_softmax", "The logarithm of softmax, without forming it.", build_log_softmax,
                gradient_log_softmax),
      over_rows("logsumexp", "The logarithm of the sum of exp(x).", build_logsumexp,
                gradient_logsumexp),
  };
  return ops;
}

}  // namespace mtf
