#include "model/phases.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/microbatch.h"
#include "ops/autodiff.h"
#include "ops/formula.h"

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

void name_loss(Builder& b) {
  Graph& g = b.graph;
  g.outputs.push_back({"driver:loss_sum", g.loss_sum});
  NodeId count = g.loss_count;
  if (count.index < 0)
    count = b.constant(1, b.numerics.statistics());
  g.outputs.push_back({"driver:loss_count", count});
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

// The label that a loss of these labels ignores besides those below 0; -1: none.
int64_t ignored_label(const Graph& g, NodeId labels) {
  for (const Composite& c : g.composites)
    if (c.op->name == "cross_entropy" && c.inputs[1] == labels)
      return c.attrs.get_or<int64_t>("ignore", -1);
  return -1;
}

// Counts where a guess equals the labels, and how many labels there are.
void compare(Builder& b, NodeId guess, NodeId label) {
  const Expr labels(b, label);
  Expr same = equal(Expr(b, guess), labels);
  const Shape shape = same.shape();
  Expr counted = labels.dtype() == DType::i32 ? valid_labels(labels, ignored_label(b.graph, label))
                                              : equal(labels, labels);  // NaN is no label
  if (const Expr examples(b, b.counted_examples(same)); examples)
    counted = both(counted, examples);
  counted = {b, b.broadcast(counted, shape)};
  auto count = [&](Expr x) { return sum(wide(x), shape.dims); };
  b.graph.outputs.push_back({"driver:correct", count(both(same, counted))});
  b.graph.outputs.push_back({"driver:correct_count", count(counted)});
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
    value = b.mask(value, shape.dims, 0);
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
  std::optional<Model> model = build_microbatch(spec, sources, numerics, diagnostics);
  if (!model)
    return std::nullopt;
  Graph& g = model->graph;
  if (g.loss_sum.index < 0) {
    diagnostics.add({Code::model_no_gradient,
                     "the model has no `loss:`, so nothing can be trained",
                     spec.model.span,
                     {},
                     "write `loss: STEP` behind the steps, with the one to make small, or leave "
                     "`train:` out"});
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
  std::optional<Model> model = build_model(spec, sources, numerics, diagnostics, {1, false, true});
  if (!model)
    return std::nullopt;
  Graph& g = model->graph;
  Builder b(g, numerics, diagnostics);
  b.padded = true;
  b.batch = g.find_dim(spec.data ? spec.data->batch : "batch");
  const std::vector<Named> outputs = g.outputs;
  if (g.loss_sum.index >= 0)
    name_loss(b);
  for (const Named& output : outputs) {
    auto label = std::find_if(g.inputs.begin(), g.inputs.end(),
                              [&](const Named& in) { return in.name == output.name; });
    if (label == g.inputs.end())
      continue;
    b.origin = g[output.node].origin;
    const DType guess = g[output.node].type.dtype, wanted = g[label->node].type.dtype;
    if (guess != wanted) {
      diagnostics.add(
          {Code::model_dtype,
           fmt::format("output '{}' is {}, but the input of that name, with which it is "
                       "compared, is {}",
                       output.name, name_of(guess), name_of(wanted)),
           b.origin.span,
           {{g[label->node].origin.span, "the input is declared here"}},
           "give the output another name, or make it of that dtype"});
      return std::nullopt;
    }
    compare(b, output.node, label->node);
    break;
  }
  return std::move(g);
}

}  // namespace mtf
