#include "ops/cases.h"

#include <sstream>

namespace mtf::testing {
namespace {

using Make = std::function<Attrs(Graph&)>;

Make over(const std::string& names) {
  return [=](Graph& g) { return Attrs{{{"over", dims_of(g, names)}}}; };
}
Make over_one(const std::string& name) {
  return [=](Graph& g) { return Attrs{{{"over", dim_of(g, name)}}}; };
}
Make to(const std::string& names) {
  return [=](Graph& g) { return Attrs{{{"to", dims_of(g, names)}}}; };
}
Make to_one(const std::string& name) {
  return [=](Graph& g) { return Attrs{{{"to", dim_of(g, name)}}}; };
}
Make value(std::string_view key, Attr attr) {
  return [=](Graph&) { return Attrs{{{key, attr}}}; };
}
// All attributes of the makers together.
Make all(std::vector<Make> makers) {
  return [=](Graph& g) {
    Attrs attrs;
    for (const Make& make : makers)
      for (auto& [key, attr] : make(g).items)
        attrs.set(key, attr);
    return attrs;
  };
}
Make attention(std::vector<Make> more = {}) {
  more.push_back([](Graph& g) {
    return Attrs{{{"rows", dim_of(g, "length")},
                  {"over", dim_of(g, "memory")},
                  {"key", dim_of(g, "d_head")}}};
  });
  return all(more);
}
Make rope(std::vector<Make> more = {}) {
  more.push_back([](Graph& g) {
    return Attrs{{{"rows", dim_of(g, "length")}, {"key", dim_of(g, "d_head")}}};
  });
  return all(more);
}

constexpr Kind real = Kind::real, positive = Kind::positive;

void add_elementwise(std::vector<Case>& rows) {
  const std::vector<Operand> two = {{real, "batch length"}, {real, "length d_model"}};
  const std::vector<Operand> two_positive = {{positive, "batch length"}, {positive, "batch"}};
  for (const char* op : {"add", "subtract", "multiply", "minimum", "maximum"})
    rows.push_back({op, op, two});
  rows.push_back({"add a value to itself", "add", {{real, "batch"}, {real, ""}}});
  for (const char* op : {"divide", "power"})
    rows.push_back({op, op, two_positive});
  rows.push_back({"remainder", "remainder", two_positive, nullptr, false});
  for (const char* op : {"negative", "abs", "exp", "expm1", "sin", "cos", "tanh", "erf", "sigmoid",
                         "softplus", "relu", "gelu", "gelu_tanh", "silu", "square", "leaky_relu",
                         "elu", "selu", "stop_gradient"})
    rows.push_back({op, op, {{real, "batch length"}}, nullptr, std::string(op) != "stop_gradient"});
  for (const char* op : {"log", "log1p", "sqrt", "rsqrt", "reciprocal"})
    rows.push_back({op, op, {{positive, "batch length"}}});
  for (const char* op : {"sign", "floor", "ceil", "is_finite"})
    rows.push_back({op, op, {{real, "batch length"}}, nullptr, false});
  for (const char* op : {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})
    rows.push_back({op, op, two, nullptr, false});
  const Operand truth{Kind::truth, "batch length"};
  for (const char* op : {"logical_and", "logical_or"})
    rows.push_back({op, op, {truth, truth}, nullptr, false});
  rows.push_back({"logical_not", "logical_not", {truth}, nullptr, false});
  rows.push_back({"where", "where", {truth, {real, "length"}, {real, "batch d_model"}}});
  for (const char* op : {"scale", "offset"})
    rows.push_back({op, op, {{real, "batch length"}}, value("by", -1.5)});
  rows.push_back({"leaky_relu slope", "leaky_relu", {{real, "length"}}, value("slope", 0.3)});
  rows.push_back(
      {"clip", "clip", {{real, "batch length"}}, all({value("low", -0.5), value("high", 0.7)})});
  rows.push_back({"cast", "cast", {{real, "length"}}, value("dtype", DType::f64)});
  rows.push_back({"broadcast", "broadcast", {{real, "length"}}, to("batch length d_model")});
  rows.push_back({"constant", "constant", {}, value("value", 2.5), false});
}

void add_contractions(std::vector<Case>& rows) {
  rows.push_back({"einsum", "einsum", {{real, "batch length d_model"}, {real, "d_model wide"}}});
  rows.push_back({"einsum in blocks", "einsum", {{real, "batch long"}, {real, "long d_model"}}});
  rows.push_back({"einsum to",
                  "einsum",
                  {{real, "batch d_model"}, {real, "d_model batch wide"}},
                  to("wide batch")});
  rows.push_back({"einsum of three",
                  "einsum",
                  {{real, "batch d_model"}, {real, "d_model wide"}, {real, "wide length"}}});
  rows.push_back({"einsum of three sharing a dim",
                  "einsum",
                  {{real, "batch length"}, {real, "length d_model"}, {real, "length batch wide"}},
                  to("d_model wide")});
  rows.push_back({"einsum with a lone summed dim",
                  "einsum",
                  {{real, "batch length"}, {real, "batch d_model"}},
                  to("batch d_model")});
  rows.push_back(
      {"einsum of a value with no shared dim", "einsum", {{real, "batch"}, {real, "length"}}});
}

void add_reductions(std::vector<Case>& rows) {
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "softmax",
                         "log_softmax", "logsumexp"}) {
    rows.push_back({op, op, {{real, "batch length"}}, over("length")});
    rows.push_back({std::string(op) + " over two dims",
                    op,
                    {{real, "length batch d_model"}},
                    over("length d_model")});
  }
  for (const char* op : {"reduce_all", "reduce_any"})
    rows.push_back({op, op, {{Kind::truth, "batch length"}}, over("length"), false});
  rows.push_back({"reduce_sum in blocks", "reduce_sum", {{real, "long batch"}}, over("long")});
  for (const char* op : {"argmax", "argmin", "sort"})
    rows.push_back({op, op, {{real, "batch length"}}, over_one("length"), false});
  rows.push_back({"top_k",
                  "top_k",
                  {{real, "batch length"}},
                  all({over_one("length"), to_one("chosen")}),
                  false});
  rows.push_back({"cumsum", "cumsum", {{real, "length batch"}}, over_one("length")});
  rows.push_back({"cumsum exclusive",
                  "cumsum",
                  {{real, "batch length"}},
                  all({over_one("length"), value("exclusive", true)})});
}

void add_norms_and_losses(std::vector<Case>& rows) {
  const Operand x{real, "batch length d_model"}, row{real, "d_model"};
  rows.push_back({"rms_norm without scale", "rms_norm", {x}, over("d_model")});
  rows.push_back({"rms_norm", "rms_norm", {x, row}, over("d_model")});
  rows.push_back({"layer_norm without scale", "layer_norm", {x}, over("d_model")});
  rows.push_back({"layer_norm", "layer_norm", {x, row, row}, over("d_model")});
  rows.push_back({"layer_norm over the batch",
                  "layer_norm",
                  {x, row, row},
                  all({over("batch length"), value("epsilon", 0.1)})});
  const Operand logits{real, "batch length class"}, labels{Kind::labels, "batch length"};
  rows.push_back({"cross_entropy", "cross_entropy", {logits, labels}, over_one("class")});
  rows.push_back({"cross_entropy smoothed",
                  "cross_entropy",
                  {logits, labels},
                  all({over_one("class"), value("smoothing", 0.1), value("z_loss", 0.3),
                       value("ignore", int64_t{2})})});
  rows.push_back({"cross_entropy of distributions",
                  "cross_entropy",
                  {logits, {Kind::simplex, "batch length class"}},
                  all({over_one("class"), value("smoothing", 0.2)})});
  rows.push_back({"mean_squared_error",
                  "mean_squared_error",
                  {{real, "batch length"}, {real, "length batch"}}});
  rows.push_back({"sigmoid_cross_entropy",
                  "sigmoid_cross_entropy",
                  {{real, "batch length"}, {Kind::simplex, "batch length"}}});
}

void add_attention(std::vector<Case>& rows) {
  const Operand q{real, "batch length heads d_head"}, k{real, "batch memory heads d_head"};
  rows.push_back({"attention", "attention", {q, k, k}, attention()});
  rows.push_back({"attention causal", "attention", {q, k, k}, attention({value("causal", true)})});
  rows.push_back(
      {"attention in a window",
       "attention",
       {q, k, k},
       attention({value("causal", true), value("window", int64_t{2}), value("scale", 0.7)})});
  rows.push_back({"attention with groups",
                  "attention",
                  {{real, "batch length heads group d_head"}, k, k},
                  attention({value("window", int64_t{2})})});
  rows.push_back({"attention to other values",
                  "attention",
                  {q, k, {real, "batch memory heads wide"}},
                  attention()});
  rows.push_back({"rope", "rope", {{real, "batch length heads d_head"}}, rope()});
  rows.push_back({"rope neighbours",
                  "rope",
                  {{real, "batch length d_head"}},
                  rope({value("pairs", std::string("neighbours")), value("base", 100.0)})});
  rows.push_back({"sinusoid",
                  "sinusoid",
                  {},
                  all({[](Graph& g) {
                         return Attrs{{{"rows", dim_of(g, "length")}}};
                       },
                       over_one("d_model")}),
                  false});
}

void add_index_and_shape(std::vector<Case>& rows) {
  const Operand ids{Kind::ids, "batch length"}, x{real, "batch length d_model"};
  rows.push_back({"gather", "gather", {{real, "class d_model"}, ids}, over_one("class")});
  rows.push_back(
      {"gather by row", "gather", {{real, "length class batch"}, ids}, over_one("class")});
  rows.push_back(
      {"gather sharing a dim", "gather", {{real, "batch class d_model"}, ids}, over_one("class")});
  rows.push_back({"embedding", "embedding", {{real, "class d_model"}, ids}, over_one("class")});
  rows.push_back({"scatter_add", "scatter_add", {ids, x}, to_one("class")});
  rows.push_back({"scatter_add keeping the batch",
                  "scatter_add",
                  {ids, {real, "length d_model"}},
                  all({to_one("class"), over("length")})});
  rows.push_back({"one_hot", "one_hot", {ids}, to_one("class"), false});
  rows.push_back({"iota", "iota", {}, over_one("length"), false});
  rows.push_back({"rename", "rename", {x}, [](Graph& g) {
                    return Attrs{{{"dims", DimPairs{{dim_of(g, "length"), dim_of(g, "memory")}}}}};
                  }});
  rows.push_back({"transpose", "transpose", {x}, to("d_model batch length")});
  rows.push_back(
      {"reshape", "reshape", {x}, [](Graph& g) {
         return Attrs{{{"from", dims_of(g, "length d_model")}, {"to", dims_of(g, "heads wide")}}};
       }});
  rows.push_back({"reshape of separate dims", "reshape", {x}, [](Graph& g) {
                    return Attrs{{{"from", dims_of(g, "d_model batch")},
                                  {"to", dims_of(g, "group d_head heads")}}};
                  }});
  rows.push_back({"slice",
                  "slice",
                  {x},
                  all({over_one("length"), to_one("chosen"), value("start", int64_t{1})})});
  rows.push_back(
      {"pad", "pad", {x}, all({over_one("length"), to_one("long"), value("before", int64_t{3})})});
  rows.push_back({"concat",
                  "concat",
                  {x, {real, "d_model wide batch"}},
                  all({over("length wide"), to_one("joined")})});
  for (bool wrap : {false, true})
    rows.push_back({wrap ? "shift around" : "shift",
                    "shift",
                    {x},
                    all({over_one("length"), value("offset", int64_t{-1}), value("wrap", wrap)})});
  rows.push_back({"write_slice",
                  "write_slice",
                  {{real, "batch memory"}, {real, "chosen batch"}, {Kind::scalar_id, ""}},
                  [](Graph& g) {
                    return Attrs{{{"over", dim_of(g, "memory")}, {"from", dim_of(g, "chosen")}}};
                  },
                  false});
  for (const char* op : {"uniform", "normal"})
    rows.push_back({op,
                    op,
                    {},
                    [](Graph& g) {
                      return Attrs{{{"dims", dims_of(g, "batch length")}}};
                    },
                    false});
  rows.push_back({"dropout", "dropout", {x}, value("rate", 0.4)});
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> table = [] {
    std::vector<Case> rows;
    add_elementwise(rows);
    add_contractions(rows);
    add_reductions(rows);
    add_norms_and_losses(rows);
    add_attention(rows);
    add_index_and_shape(rows);
    return rows;
  }();
  return table;
}

void add_dims(Graph& g) {
  const std::vector<std::pair<const char*, int64_t>> sizes = {
      {"batch", 2}, {"length", 4}, {"memory", 4}, {"d_model", 6}, {"wide", 8},  {"heads", 3},
      {"group", 1}, {"d_head", 4}, {"class", 3},  {"chosen", 2},  {"long", 64}, {"joined", 12}};
  for (auto [name, size] : sizes)
    g.add_dim({name, size, {}, {}});
}

DimId dim_of(const Graph& g, const std::string& name) {
  return g.find_dim(name);
}

std::vector<DimId> dims_of(const Graph& g, const std::string& names) {
  std::vector<DimId> dims;
  std::istringstream words(names);
  for (std::string name; words >> name;)
    dims.push_back(g.find_dim(name));
  return dims;
}

}  // namespace mtf::testing
