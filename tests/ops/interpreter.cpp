#include "ops/interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace mtf::testing {
namespace {

using Dims = std::vector<DimId>;
using Index = std::vector<int64_t>;  // by dim id

class Interpreter {
 public:
  Interpreter(const Graph& g, const std::map<std::string, Tensor>& leaves)
      : g_(g), leaves_(leaves) {}

  std::vector<Tensor> run() {
    for (const Node& node : g_.nodes)
      values_.push_back(value_of(node));
    return std::move(values_);
  }

  int64_t size(DimId d) const { return g_[d].size; }

  template <class F>
  void each(const Dims& dims, const F& f) const {
    Index index(g_.dims.size(), 0);
    for (int64_t n = g_.elements({dims}); n > 0; --n) {
      f(index);
      for (size_t i = dims.size(); i-- > 0;) {
        int64_t& at = index[static_cast<size_t>(dims[i].index)];
        if (++at < size(dims[i]))
          break;
        at = 0;
      }
    }
  }

  static int64_t& at(Index& index, DimId d) { return index[static_cast<size_t>(d.index)]; }

  size_t offset(const Dims& dims, const Index& index) const {
    int64_t offset = 0;
    for (DimId d : dims)
      offset = offset * size(d) + index[static_cast<size_t>(d.index)];
    return static_cast<size_t>(offset);
  }

 private:
  const Tensor& input(const Node& node, size_t i) const {
    return values_[static_cast<size_t>(node.inputs[i].index)];
  }
  double read(const Node& node, size_t i, const Index& index) const {
    const Tensor& x = input(node, i);
    return x.data[offset(x.dims, index)];
  }

  Tensor empty(const Node& node, double fill = 0) const {
    const Dims& dims = node.type.shape.dims;
    return {dims, std::vector<double>(static_cast<size_t>(g_.elements({dims})), fill)};
  }

  // The result whose element at each index is f(index).
  template <class F>
  Tensor made_of(const Node& node, const F& f) const {
    Tensor y = empty(node);
    each(y.dims, [&](const Index& index) { y.data[offset(y.dims, index)] = f(index); });
    return y;
  }

  Tensor value_of(const Node& node) {
    const std::string_view kernel = node.op->kernel, name = node.op->name;
    if (kernel.empty() && !node.op->name_only)
      return leaf(node);
    if (node.op->name_only)
      return name == "transpose" ? transposed(g_, input(node, 0), node.type.shape.dims)
                                 : Tensor{node.type.shape.dims, input(node, 0).data};
    if (kernel == "map")
      return made_of(node, [&](const Index& index) { return map(node, index); });
    if (kernel == "product" || kernel == "reduce" || kernel == "scatter_add" ||
        kernel == "tree_sum")
      return reduced(node);
    if (kernel == "gather")
      return made_of(node, [&](Index index) {
        const DimId over = *node.attrs.get<DimId>("over");
        const auto id = static_cast<int64_t>(read(node, 1, index));
        at(index, over) = id;
        return id >= 0 && id < size(over) ? read(node, 0, index) : -0.0;
      });
    if (kernel == "argmax" || kernel == "argmin" || kernel == "top_k" || kernel == "sort" ||
        kernel == "cumsum")
      return along(node);
    if (kernel == "uniform" || kernel == "normal")
      return random(node);
    if (kernel == "iota")
      return made_of(node, [&](Index index) {
        return static_cast<double>(at(index, node.type.shape.dims[0]));
      });
    return moved(node);
  }

  Tensor leaf(const Node& node) const {
    auto found = leaves_.find(*node.attrs.get<std::string>("name"));
    CHECK(found != leaves_.end(), "a leaf without a value");
    return transposed(g_, found->second, node.type.shape.dims);
  }

  double map(const Node& node, const Index& index) const {
    double x[3] = {};
    for (size_t i = 0; i < node.inputs.size(); ++i)
      x[i] = read(node, i, index);
    double y = scalar(node.op->scalar, x[0], x[1], x[2], node.attrs.get_or("immediate", 0.0));
    if (node.type.dtype == DType::i32)
      return std::trunc(y);
    return node.type.dtype == DType::boolean ? y != 0 : y;
  }

  static double scalar(Scalar op, double a, double b, double c, double k) {
    const double phi = std::exp(-a * a / 2) / std::sqrt(2 * M_PI);
    const double Phi = 0.5 * std::erfc(-a / std::sqrt(2.0));
    const double inner = std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a);
    const double slope = std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * a * a);
    const double logistic = 1 / (1 + std::exp(-a));
    switch (op) {
      case Scalar::copy:
        return a;
      case Scalar::constant:
        return k;
      case Scalar::add:
        return a + b;
      case Scalar::subtract:
        return a - b;
      case Scalar::multiply:
        return a * b;
      case Scalar::divide:
        return a / b;
      case Scalar::minimum:
        return std::min(a, b);
      case Scalar::maximum:
        return std::max(a, b);
      case Scalar::power:
        return std::pow(a, b);
      case Scalar::remainder:
        return a - b * std::floor(a / b);
      case Scalar::negative:
        return -a;
      case Scalar::absolute:
        return std::abs(a);
      case Scalar::exp:
        return std::exp(a);
      case Scalar::expm1:
        return std::expm1(a);
      case Scalar::log:
        return std::log(a);
      case Scalar::log1p:
        return std::log1p(a);
      case Scalar::sqrt:
        return std::sqrt(a);
      case Scalar::rsqrt:
        return 1 / std::sqrt(a);
      case Scalar::reciprocal:
        return 1 / a;
      case Scalar::sin:
        return std::sin(a);
      case Scalar::cos:
        return std::cos(a);
      case Scalar::tanh:
        return std::tanh(a);
      case Scalar::erf:
        return std::erf(a);
      case Scalar::sigmoid:
        return logistic;
      case Scalar::softplus:
        return std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a)));
      case Scalar::sign:
        return (a > 0) - (a < 0);
      case Scalar::floor:
        return std::floor(a);
      case Scalar::ceil:
        return std::ceil(a);
      case Scalar::relu:
        return std::max(a, 0.0);
      case Scalar::gelu:
        return a * Phi;
      case Scalar::gelu_gradient:
        return Phi + a * phi;
      case Scalar::gelu_tanh:
        return 0.5 * a * (1 + std::tanh(inner));
      case Scalar::gelu_tanh_gradient: {
        const double t = std::tanh(inner);
        return 0.5 * (1 + t) + 0.5 * a * (1 - t * t) * slope;
      }
      case Scalar::silu:
        return a * logistic;
      case Scalar::silu_gradient:
        return logistic * (1 + a * (1 - logistic));
      case Scalar::scale:
        return a * k;
      case Scalar::offset:
        return a + k;
      case Scalar::less:
        return a < b;
      case Scalar::less_equal:
        return a <= b;
      case Scalar::greater:
        return a > b;
      case Scalar::greater_equal:
        return a >= b;
      case Scalar::equal:
        return a == b;
      case Scalar::not_equal:
        return a != b;
      case Scalar::logical_and:
        return a != 0 && b != 0;
      case Scalar::logical_or:
        return a != 0 || b != 0;
      case Scalar::logical_not:
        return a == 0;
      case Scalar::is_finite:
        return std::isfinite(a);
      case Scalar::select:
        return a != 0 ? b : c;
    }
    return std::numeric_limits<double>::quiet_NaN();
  }

  // Everything that folds dims away: each point of the iteration space goes to its result element.
  Tensor reduced(const Node& node) const {
    const bool is_max = node.op->reduction == Reduction::max;
    const bool is_min = node.op->reduction == Reduction::min;
    const double infinity = std::numeric_limits<double>::infinity();
    Tensor y = empty(node, is_max ? -infinity : is_min ? infinity : 0);
    Dims space;
    for (NodeId x : node.inputs)
      for (DimId d : g_[x].type.shape.dims)
        if (!contains(space, d))
          space.push_back(d);
    const DimPairs blocks = node.attrs.get_or("blocks", DimPairs{});
    each(space, [&](Index index) {
      for (auto [d, block] : blocks)
        at(index, block) = at(index, d) * size(block) / size(d);
      double term = read(node, 0, index);
      if (node.op->kernel == "product")
        term *= read(node, 1, index);
      if (node.op->kernel == "scatter_add") {
        const DimId to = *node.attrs.get<DimId>("to");
        at(index, to) = static_cast<int64_t>(term);
        if (at(index, to) < 0 || at(index, to) >= size(to))
          return;
        term = read(node, 1, index);
      }
      double& to = y.data[offset(y.dims, index)];
      if (std::isnan(to) || std::isnan(term))
        to = std::numeric_limits<double>::quiet_NaN();
      else
        to = is_max ? std::max(to, term) : is_min ? std::min(to, term) : to + term;
    });
    return y;
  }

  // argmax, argmin, top_k, sort, cumsum.
  Tensor along(const Node& node) const {
    const std::string_view kernel = node.op->kernel;
    const DimId over = *node.attrs.get<DimId>("over"), to = node.attrs.get_or("to", over);
    Tensor y = empty(node);
    each(dims_without(input(node, 0).dims, {&over, 1}), [&](Index index) {
      std::vector<double> row;
      for (at(index, over) = 0; at(index, over) < size(over); ++at(index, over))
        row.push_back(read(node, 0, index));
      std::vector<double> out(row.size());
      std::iota(out.begin(), out.end(), 0.0);
      auto value = [&](double i) { return row[static_cast<size_t>(i)]; };
      if (kernel == "argmax" || kernel == "top_k")
        std::stable_sort(out.begin(), out.end(),
                         [&](double a, double b) { return value(a) > value(b); });
      else if (kernel == "argmin")
        std::stable_sort(out.begin(), out.end(),
                         [&](double a, double b) { return value(a) < value(b); });
      else if (kernel == "sort") {
        out = row;
        std::sort(out.begin(), out.end(),
                  [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
        if (node.attrs.get_or("descending", false))
          std::reverse(out.begin(), out.end());
      } else {
        double sum = 0;
        const bool exclusive = node.attrs.get_or("exclusive", false);
        for (size_t i = 0; i < row.size(); sum += row[i++])
          out[i] = exclusive ? sum : sum + row[i];
      }
      const bool one = kernel == "argmax" || kernel == "argmin";
      for (int64_t i = 0; i < (one ? 1 : size(to)); ++i) {
        at(index, to) = i;
        y.data[offset(y.dims, index)] = out[static_cast<size_t>(i)];
      }
    });
    return y;
  }

  Tensor random(const Node& node) const {
    const Dims order = *node.attrs.get<Dims>("order");
    const std::hash<std::string> hash;
    return made_of(node, [&](const Index& index) {
      std::string place = *node.attrs.get<std::string>("path");
      for (DimId d : order)
        place += " " + std::to_string(index[static_cast<size_t>(d.index)]);
      auto part = [&](const char* which) {
        return static_cast<double>(hash(place + which) % 1000003) / 1000003;
      };
      if (node.op->kernel == "uniform") {
        const double low = node.attrs.get_or("low", 0.0), high = node.attrs.get_or("high", 1.0);
        return low + (high - low) * part(":");
      }
      return node.attrs.get_or("std", 1.0) * std::sqrt(-2 * std::log(part("a") + 1e-9)) *
             std::cos(2 * M_PI * part("b"));
    });
  }

  // copy, slice, pad, concat, shift, write_slice.
  Tensor moved(const Node& node) const {
    const std::string_view kernel = node.op->kernel;
    if (kernel == "copy") {
      Tensor flat = transposed(g_, input(node, 0), *node.attrs.get<Dims>("from"));
      return transposed(g_, {*node.attrs.get<Dims>("to"), flat.data}, node.type.shape.dims);
    }
    if (kernel == "concat")
      return concat(node);
    if (kernel == "write_slice")
      return write_slice(node);
    const DimId over = *node.attrs.get<DimId>("over"), to = node.attrs.get_or("to", over);
    int64_t from = node.attrs.get_or<int64_t>("start", 0) -
                   node.attrs.get_or<int64_t>("before", 0) -
                   node.attrs.get_or<int64_t>("offset", 0);
    if (kernel == "slice" && node.inputs.size() > 1)
      from += static_cast<int64_t>(input(node, 1).data[0]);
    return made_of(node, [&](Index index) {
      int64_t i = at(index, to) + from;
      if (node.attrs.get_or("wrap", false))
        i = ((i % size(over)) + size(over)) % size(over);
      at(index, over) = i;
      return i >= 0 && i < size(over) ? read(node, 0, index) : 0.0;
    });
  }

  Tensor concat(const Node& node) const {
    const Dims over = *node.attrs.get<Dims>("over");
    const DimId to = *node.attrs.get<DimId>("to");
    return made_of(node, [&](Index index) {
      int64_t i = at(index, to);
      size_t part = 0;
      while (i >= size(over[part]))
        i -= size(over[part++]);
      at(index, over[part]) = i;
      return read(node, part, index);
    });
  }

  Tensor write_slice(const Node& node) const {
    const DimId over = *node.attrs.get<DimId>("over"), from = *node.attrs.get<DimId>("from");
    const auto position = static_cast<int64_t>(input(node, 2).data[0]);
    const int64_t count =
        node.inputs.size() > 3 ? static_cast<int64_t>(input(node, 3).data[0]) : size(from);
    return made_of(node, [&](Index index) {
      const int64_t i = at(index, over) - position;
      if (i < 0 || i >= count)
        return read(node, 0, index);
      at(index, from) = i;
      return read(node, 1, index);
    });
  }

  const Graph& g_;
  const std::map<std::string, Tensor>& leaves_;
  std::vector<Tensor> values_;
};

}  // namespace

std::vector<Tensor> interpret(const Graph& g, const std::map<std::string, Tensor>& leaves) {
  return Interpreter(g, leaves).run();
}

Tensor transposed(const Graph& g, const Tensor& x, const std::vector<DimId>& dims) {
  const std::map<std::string, Tensor> none;
  const Interpreter loops(g, none);
  Tensor y{dims, std::vector<double>(x.data.size())};
  loops.each(dims, [&](const Index& index) {
    y.data[loops.offset(dims, index)] = x.data[loops.offset(x.dims, index)];
  });
  return y;
}

}  // namespace mtf::testing
