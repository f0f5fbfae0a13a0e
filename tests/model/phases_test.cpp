#include <catch2/catch.hpp>

#include "building.h"

using namespace mtf;

namespace {

std::vector<std::string> names(const std::vector<Named>& list) {
  std::vector<std::string> out;
  for (const Named& n : list)
    out.push_back(n.name);
  return out;
}

using Names = std::vector<std::string>;

const Type& type_of(const Graph& g, const std::vector<Named>& list, const std::string& name) {
  for (const Named& n : list)
    if (n.name == name)
      return g[n.node].type;
  FAIL("no " + name);
  std::abort();
}

}  // namespace

TEST_CASE("init draws every parameter by its own path and zeroes the optimizer's state") {
  Built b = build_file("digits_mlp.yaml");
  REQUIRE(b.model);
  Graph g = init_graph(*b.model, b.spec, b.numerics);
  CHECK(names(g.outputs) == Names{"parameter:b1", "state:b1/m", "state:b1/v", "parameter:b2",
                                  "state:b2/m", "state:b2/v", "parameter:w1", "state:w1/m",
                                  "state:w1/v", "parameter:w2", "state:w2/m", "state:w2/v"});
  CHECK(g.inputs.empty());
  CHECK(print(g).find("path=w1") != std::string::npos);
  CHECK(g.show(type_of(g, g.outputs, "state:w1/v").shape) == "[pixel=64, hidden=1024]");
}

TEST_CASE("accumulate gives the loss and every gradient in the dims of its parameter") {
  Built b = build_file("lm_bytes.yaml");
  std::optional<Graph> g = accumulate_graph(b.spec, b.sources, b.numerics, b.diagnostics);
  INFO(b.text());
  REQUIRE(g);
  CHECK(names(g->states).empty());
  CHECK(g->outputs.size() == 2 + b.model->parameters.size());
  CHECK(g->outputs[0].name == "driver:loss_sum");
  CHECK(g->outputs[1].name == "driver:loss_count");
  for (const Parameter& p : b.model->parameters) {
    const Type& type = type_of(*g, g->outputs, "gradient:" + p.path);
    CHECK(type.dtype == DType::f32);
    CHECK(g->elements(type.shape) == b.model->graph.elements(b.model->graph[p.node].type.shape));
  }
}

TEST_CASE("microbatches: dims of one, gradients added to state, blocks kept where asked for") {
  for (bool blocks : {false, true}) {
    Built b = build_file("two_layer.yaml", {"train.microbatches=4",
                                            blocks ? "train.accumulate=blocks" : "train.seed=2"});
    std::optional<Graph> g = accumulate_graph(b.spec, b.sources, b.numerics, b.diagnostics);
    INFO(b.text());
    REQUIRE(g);
    CHECK((*g)[g->find_dim("batch")].size == 256);
    CHECK(names(g->states) == Names{"gradient:bias", "gradient:v", "gradient:w"});
    std::string w = g->show(type_of(*g, g->outputs, "gradient:w").shape);
    CHECK(w == (blocks ? "[batch#8=8, io=512, hidden=4096]" : "[io=512, hidden=4096]"));
    Graph update = update_graph(*g, *b.spec.train, b.numerics);
    CHECK(update.show(type_of(update, update.states, "gradient:w").shape) == w);
    CHECK(update.show(type_of(update, update.outputs, "parameter:w").shape) ==
          "[io=512, hidden=4096]");
  }
  Built odd = build_file("two_layer.yaml", {"train.microbatches=3"});
  CHECK(odd.found() == Names{"train.microbatches 1:20"});
}

TEST_CASE("gpt3_175b: a microbatch forward and backward, and its update") {
  Built b = build_file("gpt3_175b.yaml");
  std::optional<Graph> g = accumulate_graph(b.spec, b.sources, b.numerics, b.diagnostics);
  INFO(b.text());
  REQUIRE(g);
  CHECK((*g)[g->find_dim("batch")].size == 1536 / 64);
  CHECK(g->outputs.size() == 2 + b.model->parameters.size());
  CHECK(type_of(*g, g->outputs, "gradient:layers[95]/mlp/w1").dtype == DType::f32);
  Graph update = update_graph(*g, *b.spec.train, b.numerics);
  CHECK(update.outputs.size() == 1 + 3 * b.model->parameters.size());
  CHECK(update.show(type_of(update, update.outputs, "parameter:layers[95]/mlp/w1").shape) ==
        "[d_model=12288, d_ff=49152]");
}

TEST_CASE("frozen parameters have neither gradients nor updates") {
  Built b = build_file("digits_mlp.yaml", {"train.freeze=[b*]"});
  std::optional<Graph> g = accumulate_graph(b.spec, b.sources, b.numerics, b.diagnostics);
  REQUIRE(g);
  CHECK(names(g->outputs) ==
        Names{"driver:loss_sum", "driver:loss_count", "gradient:w1", "gradient:w2"});
  Graph update = update_graph(*g, *b.spec.train, b.numerics);
  CHECK(names(update.outputs) == Names{"state:w1/m", "state:w1/v", "parameter:w1", "state:w2/m",
                                       "state:w2/v", "parameter:w2"});
  CHECK(names(update.inputs) == Names{"driver:loss_count", "driver:lr", "driver:one_minus_beta1_t",
                                      "driver:sqrt_one_minus_beta2_t"});
}

TEST_CASE("a parameter that the loss does not depend on is an error at its declaration") {
  Built b = build_text(R"(mtf: 1
name: t
dims: {batch: 4, d: 8}
mesh: {}
model:
  inputs: {x: {dims: [batch, d]}, t: {dims: [batch, d]}}
  params: {w: [d], v: [d]}
  steps:
    - y: {multiply: [x, w]}
    - z: {multiply: [x, v]}
    - loss: {mean_squared_error: [y, t]}
  loss: loss
  outputs: {z: z}
data: {synthetic: {x: {normal: 1.0}, t: {normal: 1.0}}}
train: {steps: 1, optimizer: {sgd: {learning_rate: 0.1}}}
)");
  REQUIRE(b.model);
  CHECK_FALSE(accumulate_graph(b.spec, b.sources, b.numerics, b.diagnostics));
  REQUIRE(b.found() == Names{"model.no-gradient 7:20"});
}

TEST_CASE("a parameter may not depend on the size of a batch that is cut into microbatches") {
  auto built = [](const std::string& microbatches) {
    return build_text(R"(mtf: 1
name: t
dims: {batch: 4, pairs: batch / 2, d: 8}
model:
  inputs: {x: {dims: [batch, d]}, t: {dims: [batch, d]}}
  params:
    w: [batch, d]
    v: [pairs, d]
    u: [d]
  steps:
    - a: {multiply: [x, w]}
    - m: {reduce_sum: v, over: pairs}
    - b: {multiply: [a, m]}
    - y: {multiply: [b, u]}
    - loss: {mean_squared_error: [y, t]}
  loss: loss
data: {synthetic: {x: {normal: 1.0}, t: {normal: 1.0}}}
train: {steps: 1, optimizer: {sgd: {learning_rate: 0.1}}, microbatches: )" +
                      microbatches + "}\n");
  };
  Built whole = built("1"), cut = built("2");
  INFO(whole.text() << cut.text());
  CHECK(accumulate_graph(whole.spec, whole.sources, whole.numerics, whole.diagnostics));
  CHECK_FALSE(accumulate_graph(cut.spec, cut.sources, cut.numerics, cut.diagnostics));
  REQUIRE(cut.found() == Names{"train.batch-parameter 8:5", "train.batch-parameter 7:5"});
  CHECK(
      cut.diagnostics.all()[1].message ==
      "'batch' of parameter 'w' depends on the size of the batch, of which each of 2 microbatches "
      "has a part");
}

TEST_CASE("eval counts the entries of an output that equal the input of its name") {
  Built b = build_file("digits_mlp.yaml");
  std::optional<Graph> g = eval_graph(b.spec, b.sources, b.numerics, b.diagnostics);
  REQUIRE(g);
  CHECK(names(g->outputs) == Names{"label", "driver:loss_sum", "driver:loss_count",
                                   "driver:correct", "driver:correct_count"});
  CHECK(names(g->inputs) == Names{"image", "label", "driver:valid_examples"});
  for (const char* name : {"driver:correct", "driver:correct_count"})
    CHECK(type_of(*g, g->outputs, name).shape.dims.empty());
}
