// Optimizers as graph: the update of docs/NUMERICS.md 8, each parameter in the scope of its path.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "model/phases.h"
#include "ops/formula.h"

namespace mtf {
namespace {

using Kind = Optimizer::Kind;

class Update {
 public:
  Update(const Graph& accumulate, const TrainSpec& train, const Numerics& numerics, Extent extent)
      : train_(train), accumulate_(accumulate), extent_(extent), b_(graph_, numerics, none_) {
    graph_.dims = accumulate.dims;
    b_.phase = Phase::update;
  }

  Graph run() {
    const Kind kind = train_.optimizer.kind;
    Expr count = scalar("driver:loss_count");
    rate_ = scalar("driver:lr");
    if (kind == Kind::adam || kind == Kind::adamw) {
      correction1_ = scalar("driver:one_minus_beta1_t");
      correction2_ = scalar("driver:sqrt_one_minus_beta2_t");
    }
    read_gradients(count);
    if (train_.clip_global_norm)
      clip(*train_.clip_global_norm);
    for (Trained& t : trained_)
      update(t);
    return std::move(graph_);
  }

 private:
  struct Trained {
    std::string path;
    Origin origin;
    NodeId parameter, gradient;
  };

  Expr scalar(const std::string& name) {
    return {b_, b_.leaf("input", name, {{}, b_.numerics.statistics()})};
  }
  Expr expr(NodeId id) { return {b_, id}; }

  // The leaves of every trained parameter, in path order, and its gradient per counted entry.
  void read_gradients(Expr count) {
    std::unordered_map<std::string_view, NodeId> outputs;
    for (const Named& out : accumulate_.outputs)
      outputs.emplace(out.name, out.node);
    for (const Named& p : accumulate_.parameters)
      if (auto it = outputs.find("gradient:" + p.name); it != outputs.end())
        trained_.push_back({p.name, accumulate_[p.node].origin, p.node, it->second});
    std::sort(trained_.begin(), trained_.end(),
              [](const Trained& a, const Trained& b) { return path_less(a.path, b.path); });
    if (extent_ == Extent::sample)
      keep_one_of_each();
    for (Trained& t : trained_) {
      b_.origin = t.origin;
      const Type type = accumulate_[t.gradient].type;
      t.parameter = b_.leaf("parameter", t.path, accumulate_[t.parameter].type);
      t.gradient = b_.leaf("state", "gradient:" + t.path, type);
      graph_[t.gradient].gradient_of = t.parameter;
      DimPairs blocks;
      for (DimId d : type.shape.dims)
        if (!b_.shape(t.parameter).has(d))
          blocks.emplace_back(graph_[d].block_of, d);
      t.gradient = expr(b_.fold(t.gradient, blocks)) / count;
    }
  }

  void keep_one_of_each() {
    std::set<std::tuple<std::vector<DimId>, DType, std::vector<DimId>, bool>> seen;
    std::erase_if(trained_, [&](const Trained& t) {
      const Type &type = accumulate_[t.parameter].type, &gradient = accumulate_[t.gradient].type;
      return !seen.emplace(type.shape.dims, type.dtype, gradient.shape.dims, decays(t)).second;
    });
  }

  // g * min(1, c / norm), the norm being over all parameters (Pascanu, Mikolov and Bengio 2013).
  void clip(double most) {
    NodeId total;
    for (const Trained& t : trained_) {
      b_.origin = t.origin;
      Expr square = sum(apply("square", expr(t.gradient)), b_.shape(t.gradient).dims);
      total = total.index < 0 ? NodeId(square) : NodeId(expr(total) + square);
    }
    if (total.index < 0)
      return;
    Expr norm = apply("sqrt", expr(total));
    Expr factor = minimum(norm.constant(most) / norm, 1);
    graph_.outputs.push_back({"driver:gradient_norm", norm});
    for (Trained& t : trained_) {
      b_.origin = t.origin;
      t.gradient = expr(t.gradient) * factor;
    }
  }

  Expr state(const Trained& t, const std::string& name) {
    return expr(b_.leaf("state", t.path + "/" + name, graph_[t.parameter].type));
  }

  void output(const std::string& kind, const std::string& name, NodeId node) {
    graph_.outputs.push_back({kind + ":" + name, b_.mask(node, b_.shape(node).dims, 0)});
  }

  void update(const Trained& t) {
    b_.origin = t.origin;
    Expr w = expr(t.parameter), g = expr(t.gradient);
    const Optimizer& o = train_.optimizer;
    switch (o.kind) {
      case Kind::sgd:
        output("parameter", t.path, w - expr(rate_) * g);
        break;
      case Kind::momentum: {
        Expr u = state(t, "u") * o.momentum + g;
        output("state", t.path + "/u", u);
        output("parameter", t.path, w - expr(rate_) * u);
        break;
      }
      case Kind::adam:
      case Kind::adamw:
        update_adam(t, w, g);
        break;
    }
  }

  bool decays(const Trained& t) const {
    const Optimizer& o = train_.optimizer;
    return o.kind == Kind::adamw && o.weight_decay != 0 &&
           std::none_of(o.exclude.begin(), o.exclude.end(),
                        [&](const std::string& pattern) { return path_matches(pattern, t.path); });
  }

  // Kingma and Ba 2015; decoupled decay by Loshchilov and Hutter 2019; the order of PyTorch.
  void update_adam(const Trained& t, Expr w, Expr g) {
    const Optimizer& o = train_.optimizer;
    const auto [beta1, beta2] = o.betas;
    Expr m = state(t, "m") * beta1 + g * (1 - beta1);
    Expr v = state(t, "v") * beta2 + apply("square", g) * (1 - beta2);
    if (decays(t))
      w = w - expr(rate_) * o.weight_decay * w;
    Expr step = expr(rate_) / expr(correction1_);
    Expr spread = apply("sqrt", v) / expr(correction2_) + o.epsilon;
    output("state", t.path + "/m", m);
    output("state", t.path + "/v", v);
    output("parameter", t.path, w - step * m / spread);
  }

  const TrainSpec& train_;
  const Graph& accumulate_;
  Extent extent_;
  Graph graph_;
  Diagnostics none_;
  Builder b_;
  NodeId rate_, correction1_, correction2_;
  std::vector<Trained> trained_;
};

}  // namespace

std::vector<std::string> state_names(const Optimizer& optimizer) {
  switch (optimizer.kind) {
    case Kind::sgd:
      return {};
    case Kind::momentum:
      return {"u"};
    case Kind::adam:
    case Kind::adamw:
      return {"m", "v"};
  }
  return {};
}

Graph update_graph(const Graph& accumulate, const TrainSpec& train, const Numerics& numerics,
                   Extent extent) {
  return Update(accumulate, train, numerics, extent).run();
}

}  // namespace mtf
