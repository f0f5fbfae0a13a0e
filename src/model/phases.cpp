#include "model/phases.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ops/autodiff.h"
#include "ops/formula.h"
#include "spec/dims.h"

namespace mtf {
namespace {

NodeId initial_value(Builder& b, const Parameter& p, const Shape& shape, int64_t seed) {
  DType type = b.numerics.statistics();
  if (p.init.kind == Init::Kind::constant)
    return b.broadcast(b.constant(p.init.value, type), shape);
  Attrs attrs{{{"order", shape.dims}, {"dtype", type}, {"seed", seed}, {"path", p.path}}};
  if (p.init.kind == Init::Kind::uniform) {
    attrs.set("low", -p.init.value);
    attrs.set("high", p.init.value);
    return b.add("draw_uniform", {}, attrs);
  }
  attrs.set("std", p.init.value);
  attrs.set("truncated", true);
  return b.add("draw_normal", {}, attrs);
}

bool is_frozen(const TrainSpec& train, const std::string& path) {
  return std::any_of(train.freeze.begin(), train.freeze.end(),
                     [&](const std::string& pattern) { return path_matches(pattern, path); });
}

// False after a diagnostic.
bool microbatches_divide(const Spec& spec, Diagnostics& diagnostics) {
  const std::string batch = spec.data ? spec.data->batch : "batch";
  DimTable table(diagnostics);
  for (const DimSpec& dim : spec.dims)
    table.add(dim);
  if (!table.find(batch))
    return true;
  std::optional<int64_t> size = table.size(batch, {});
  if (!size || *size % spec.train->microbatches == 0)
    return size.has_value();
  diagnostics.add({Code::train_microbatches,
                   fmt::format("{}={} is not divisible by microbatches={}", batch, *size,
                               spec.train->microbatches),
                   spec.span("train.microbatches"),
                   {},
                   {}});
  return false;
}

void name_loss(Builder& b) {
  Graph& g = b.graph;
  g.outputs.push_back({"loss_sum", g.loss_sum});
  NodeId count = g.loss_count;
  if (count.index < 0)
    count = b.constant(1, b.numerics.statistics());
  g.outputs.push_back({"loss_count", count});
}

// What a gradient is accumulated as: the folded sum, or the operand of its last tree, which keeps
// the outermost block dim.
NodeId accumulated(const Graph& g, NodeId gradient, Accumulate how) {
  bool folds = g[gradient].op->name == "tree_sum";
  return folds && how == Accumulate::blocks ? g[gradient].inputs[0] : gradient;
}

void output_gradient(Builder& b, const Parameter& p, NodeId gradient, const TrainSpec& train) {
  std::string name = "gradient:" + p.path;
  if (train.microbatches > 1) {
    NodeId term = accumulated(b.graph, gradient, train.accumulate);
    b.origin = {p.span, p.path};
    NodeId before = b.leaf("state", name, b[term].type);
    gradient = b.add("add", {before, term});
    for (NodeId id : {before, term, gradient})
      b.graph[id].gradient_of = p.node;
  }
  b.graph.outputs.push_back({std::move(name), gradient});
}

}  // namespace

Graph init_graph(const Model& model, const Spec& spec, const Numerics& numerics) {
  Graph g;
  g.dims = model.graph.dims;
  Diagnostics none;
  Builder b(g, numerics, none);
  for (const Parameter& p : model.parameters) {
    b.origin = {p.span, p.path};
    const Shape& shape = model.graph[p.node].type.shape;
    NodeId value = initial_value(b, p, shape, spec.train ? spec.train->seed : 1);
    g.outputs.push_back({"parameter:" + p.path, value});
    if (!spec.train || is_frozen(*spec.train, p.path))
      continue;
    for (const std::string& name : state_names(spec.train->optimizer)) {
      NodeId zero = b.broadcast(b.constant(0, numerics.statistics()), shape);
      g.outputs.push_back({fmt::format("state:{}/{}", p.path, name), zero});
    }
  }
  return g;
}

std::optional<Graph> accumulate_graph(const Spec& spec, Sources& sources, const Numerics& numerics,
                                      Diagnostics& diagnostics) {
  const TrainSpec train = spec.train.value_or(TrainSpec{});
  if (spec.train && !microbatches_divide(spec, diagnostics))
    return std::nullopt;
  std::optional<Model> model =
      build_model(spec, sources, numerics, diagnostics, {train.microbatches, true});
  if (!model)
    return std::nullopt;
  Graph& g = model->graph;
  if (g.loss_sum.index < 0) {
    diagnostics.add({Code::model_no_gradient,
                     "the model has no `loss:`, so nothing can be trained",
                     spec.model.span,
                     {},
                     {}});
    return std::nullopt;
  }
  Builder b(g, numerics, diagnostics);
  std::vector<Parameter> trained;
  std::vector<NodeId> nodes;
  for (const Parameter& p : model->parameters)
    if (!is_frozen(train, p.path)) {
      trained.push_back(p);
      nodes.push_back(p.node);
    }
  std::vector<NodeId> gradients = differentiate(b, g.loss_sum, nodes);
  g.outputs.clear();
  name_loss(b);
  b.phase = Phase::backward;
  bool complete = true;
  for (size_t i = 0; i < trained.size(); ++i) {
    if (gradients[i].index >= 0) {
      output_gradient(b, trained[i], gradients[i], train);
      continue;
    }
    complete = false;
    diagnostics.add(
        {Code::model_no_gradient,
         fmt::format("the loss does not depend on parameter '{}', or not differentiably",
                     trained[i].path),
         trained[i].span,
         {},
         "remove it, or list it in `train.freeze`"});
  }
  return complete ? std::optional(std::move(g)) : std::nullopt;
}

std::optional<Graph> eval_graph(const Spec& spec, Sources& sources, const Numerics& numerics,
                                Diagnostics& diagnostics) {
  std::optional<Model> model = build_model(spec, sources, numerics, diagnostics, {1, false});
  if (!model)
    return std::nullopt;
  Graph& g = model->graph;
  Builder b(g, numerics, diagnostics);
  const std::vector<Named> outputs = g.outputs;
  if (g.loss_sum.index >= 0)
    name_loss(b);
  for (const Named& output : outputs) {
    auto label = std::find_if(g.inputs.begin(), g.inputs.end(),
                              [&](const Named& in) { return in.name == output.name; });
    if (label == g.inputs.end())
      continue;
    b.origin = g[output.node].origin;
    Expr same = equal(Expr(b, output.node), Expr(b, label->node));
    g.outputs.push_back({"correct", sum(wide(same), same.shape().dims)});
    break;
  }
  return std::move(g);
}

}  // namespace mtf
