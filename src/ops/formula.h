// Arithmetic on nodes, so that composite ops and gradients read as their formulas. Dims broadcast
// by name; a failed operand (index -1) makes a failed result.
#pragma once

#include "ops/builder.h"

namespace mtf {

class Expr {
 public:
  Expr(Builder& b, NodeId id) : b_(&b), id_(id) {}
  operator NodeId() const { return id_; }  // NOLINT: an Expr stands for its node
  explicit operator bool() const { return id_.index >= 0; }

  Builder& builder() const { return *b_; }
  DType dtype() const { return b_->dtype(id_); }
  Shape shape() const { return b_->shape(id_); }
  Expr constant(double value) const { return {*b_, b_->constant(value, dtype())}; }

 private:
  Builder* b_;
  NodeId id_;
};

inline Expr apply(std::string_view op, Expr x, Attrs attrs = {}) {
  return {x.builder(), x.builder().add(op, {x}, std::move(attrs))};
}
inline Expr apply(std::string_view op, Expr x, Expr y) {
  return {x.builder(), x.builder().add(op, {x, y})};
}

inline Expr operator+(Expr x, Expr y) {
  return apply("add", x, y);
}
inline Expr operator-(Expr x, Expr y) {
  return apply("subtract", x, y);
}
inline Expr operator*(Expr x, Expr y) {
  return apply("multiply", x, y);
}
inline Expr operator/(Expr x, Expr y) {
  return apply("divide", x, y);
}
inline Expr operator-(Expr x) {
  return apply("negative", x);
}
inline Expr operator*(Expr x, double c) {
  return apply("scale", x, {{{"immediate", c}}});
}
inline Expr operator+(Expr x, double c) {
  return apply("offset", x, {{{"immediate", c}}});
}
inline Expr operator/(Expr x, double c) {
  return x / x.constant(c);
}

inline Expr exp(Expr x) {
  return apply("exp", x);
}
inline Expr log(Expr x) {
  return apply("log", x);
}
inline Expr sin(Expr x) {
  return apply("sin", x);
}
inline Expr cos(Expr x) {
  return apply("cos", x);
}
inline Expr rsqrt(Expr x) {
  return apply("rsqrt", x);
}
inline Expr sigmoid(Expr x) {
  return apply("sigmoid", x);
}
inline Expr floor(Expr x) {
  return apply("floor", x);
}
inline Expr maximum(Expr x, double c) {
  return apply("maximum", x, x.constant(c));
}
inline Expr minimum(Expr x, double c) {
  return apply("minimum", x, x.constant(c));
}

inline Expr less(Expr x, Expr y) {
  return apply("less", x, y);
}
inline Expr greater_equal(Expr x, Expr y) {
  return apply("greater_equal", x, y);
}
inline Expr equal(Expr x, Expr y) {
  return apply("equal", x, y);
}
inline Expr less(Expr x, double c) {
  return less(x, x.constant(c));
}
inline Expr greater_equal(Expr x, double c) {
  return greater_equal(x, x.constant(c));
}
inline Expr both(Expr x, Expr y) {
  return apply("logical_and", x, y);
}
// Labels that count: from 0 on, without the one to be ignored, if that is not negative.
inline Expr valid_labels(Expr labels, int64_t ignore) {
  const Expr given = greater_equal(labels, 0.0);
  if (ignore < 0)
    return given;
  return both(given, apply("not_equal", labels, labels.constant(static_cast<double>(ignore))));
}
inline Expr where(Expr condition, Expr x, Expr y) {
  return {x.builder(), x.builder().add("where", {condition, x, y})};
}
inline Expr where(Expr condition, Expr x, double c) {
  return where(condition, x, x.constant(c));
}
inline Expr where(Expr condition, double c, Expr y) {
  return where(condition, y.constant(c), y);
}

inline Expr cast(Expr x, DType type) {
  return {x.builder(), x.builder().cast(x, type)};
}
// f32, or f64 in f64: what statistics and losses are computed in.
inline Expr wide(Expr x) {
  return cast(x, x.builder().numerics.statistics());
}
inline Expr sum(Expr x, std::vector<DimId> over) {
  return {x.builder(), x.builder().reduce_sum(x, std::move(over))};
}
inline Expr sum_to(Expr x, const Shape& shape) {
  return {x.builder(), x.builder().sum_to(x, shape)};
}
inline Expr max(Expr x, std::vector<DimId> over) {
  return apply("max", x, {{{"over", std::move(over)}}});
}
inline Expr iota(Builder& b, DimId d, DType type) {
  return {b, b.cast(b.add("iota", {}, {{{"over", d}}}), type)};
}

}  // namespace mtf
