#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>

#include "building.h"

using namespace mtf;

namespace {

std::vector<std::string> paths(const Model& model) {
  std::vector<std::string> out;
  for (const Parameter& p : model.parameters)
    out.push_back(p.path);
  return out;
}

const Parameter& parameter(const Model& model, const std::string& path) {
  for (const Parameter& p : model.parameters)
    if (p.path == path)
      return p;
  FAIL("no parameter " + path);
  std::abort();
}

std::string printed_inits(const Model& model) {
  std::string out;
  for (const Parameter& p : model.parameters)
    out += p.path + " " + model.graph.show(model.graph[p.node].type.shape) + " " +
           std::to_string(static_cast<int>(p.init.kind)) + " " + std::to_string(p.init.value) +
           "\n";
  return out;
}

}  // namespace

TEST_CASE("paths are ordered as text, numbers in brackets as numbers") {
  CHECK(path_less("layers[2]/w", "layers[10]/w"));
  CHECK_FALSE(path_less("layers[10]/w", "layers[2]/w"));
  CHECK(path_less("layers[2]/a", "layers[2]/b"));
  CHECK(path_less("a", "ab"));
  CHECK(path_less("layers10", "layers2"));
  CHECK_FALSE(path_less("x[3]", "x[3]"));
}

TEST_CASE("two_layer builds: shapes, initial values and the two nodes of its loss") {
  Built b = build_file("two_layer.yaml");
  INFO(b.text());
  REQUIRE(b.model);
  CHECK(b.found().empty());
  const Graph& g = b.model->graph;
  CHECK(paths(*b.model) == std::vector<std::string>{"bias", "v", "w"});
  CHECK(parameter_count(*b.model) == 512 * 4096 * 2 + 4096);
  CHECK(g.show(g[parameter(*b.model, "w").node].type.shape) == "[io=512, hidden=4096]");
  CHECK(parameter(*b.model, "w").init.value == Approx(1 / std::sqrt(512.0)));
  CHECK(parameter(*b.model, "v").init.value == Approx(1 / std::sqrt(4096.0)));
  CHECK(parameter(*b.model, "bias").init.kind == Init::Kind::constant);
  CHECK(g[g.loss].inputs == std::vector<NodeId>{g.loss_sum, g.loss_count});
  REQUIRE(g.inputs.size() == 2);
  CHECK(g.inputs[0].name == "x");
}

TEST_CASE("digits_mlp builds and equals the library's mlp_classifier") {
  Built own = build_file("digits_mlp.yaml");
  INFO(own.text());
  REQUIRE(own.model);
  CHECK(parameter_count(*own.model) == 64 * 1024 + 1024 + 1024 * 10 + 10);
  Built library = build_file("digits_mlp.yaml", {"model={use: mlp_classifier}"});
  INFO(library.text());
  REQUIRE(library.model);
  CHECK(print(own.model->graph) == print(library.model->graph));
  CHECK(printed_inits(*own.model) == printed_inits(*library.model));
}

TEST_CASE("lm_blocks and lm_bytes are one graph with the same parameters") {
  Built blocks = build_file("lm_blocks.yaml"), bytes = build_file("lm_bytes.yaml");
  INFO(blocks.text() << bytes.text());
  REQUIRE(blocks.model);
  REQUIRE(bytes.model);
  CHECK(blocks.found().empty());
  CHECK(bytes.found().empty());
  CHECK(print(blocks.model->graph) == print(bytes.model->graph));
  CHECK(printed_inits(*blocks.model) == printed_inits(*bytes.model));
  int64_t d = 128, layer = 4 * d * d + 2 * d * 512 + 2 * d;
  CHECK(parameter_count(*bytes.model) == 256 * d + 128 * d + d + 4 * layer);
  const Model& m = *bytes.model;
  CHECK(paths(m)[0] == "layers[0]/attention/scale");
  CHECK(parameter(m, "layers[3]/attention/wo").init.value == Approx(1 / std::sqrt(128.0)));
  CHECK(parameter(m, "layers[1]/mlp/w2").init.value == Approx(1 / std::sqrt(512.0)));
  CHECK(parameter(m, "table").init.value == Approx(0.02));
}

TEST_CASE("gpt3_175b in bf16: exact number of parameters, built in half a second") {
  auto start = std::chrono::steady_clock::now();
  Built b = build_file("gpt3_175b.yaml");
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  INFO(b.text());
  REQUIRE(b.model);
  CHECK(seconds.count() < 0.5);
  int64_t d = 12288, f = 4 * d;
  int64_t attention = 4 * d * d + 4 * d, mlp = 2 * d * f + f + d, norms = 4 * d;
  CHECK(parameter_count(*b.model) == 96 * (attention + mlp + norms) + 51200 * d + 2048 * d + 2 * d);
  const Graph& g = b.model->graph;
  CHECK(g[parameter(*b.model, "table").node].type.dtype == DType::f32);
  CHECK(g[g.outputs[0].node].type.dtype == DType::bf16);
}

TEST_CASE("the seven models of the Mesh TensorFlow paper have its numbers of parameters") {
  struct Row {
    int64_t d_ff, heads;
    double billions;
  };
  const Row rows[] = {{4096, 4, 0.143},    {8192, 8, 0.218},   {16384, 16, 0.369},
                      {32768, 32, 0.671},  {65536, 64, 1.275}, {131072, 128, 2.483},
                      {262144, 256, 4.899}};
  for (const Row& row : rows) {
    Built b = build_file("lm_paper_5b.yaml",
                         {"dims.d_ff=" + std::to_string(row.d_ff),
                          "dims.heads=" + std::to_string(row.heads), "mesh={rows: 2, cols: 2}"});
    INFO(b.text());
    REQUIRE(b.model);
    int64_t d = 1024, norms = 6 * 4 * d + 2 * d;
    CHECK(parameter_count(*b.model) ==
          6 * (4 * d * row.heads * 256 + 2 * d * row.d_ff) + 2 * 32768 * d + norms);
    CHECK(std::abs(static_cast<double>(parameter_count(*b.model)) / 1e9 - row.billions) < 0.0006);
  }
}

TEST_CASE("llama's grouped queries, gates and rope") {
  Built b = build_file("llama_405b_long.yaml");
  INFO(b.text());
  REQUIRE(b.model);
  int64_t d = 16384, kv = 2 * d * 8 * 128, f = 53248;
  CHECK(parameter_count(*b.model) ==
        126 * (2 * d * d + kv + 3 * d * f + 2 * d) + 2 * int64_t{128256} * d + d);
}

TEST_CASE("dims of blocks are defaults; local ones are the block's own") {
  const std::string head = "mtf: 1\nname: t\ndims: {batch: 4, d: 8}\nmesh: {}\n";
  const std::string model = R"(
model:
  inputs: {x: {dims: [batch, d]}}
  blocks:
    wide:
      takes: x
      with: {factor: 2}
      dims: {hidden: $factor * d}
      LOCAL
      params: {w: [d, hidden], v: [hidden, d]}
      steps: [{h: {einsum: [x, w]}}, {y: {einsum: [h, v]}}]
      gives: y
  steps:
    - one: {wide: x}
    - two: {wide: one, with: {factor: 3}}
  outputs: {y: two}
)";
  auto with = [&](const std::string& text) {
    std::string m = model;
    return head + m.replace(m.find("LOCAL"), 5, text);
  };
  Built shared = build_text(with("local: false"));
  CHECK_FALSE(shared.model);
  Built local = build_text(with("local: true"));
  INFO(local.text());
  REQUIRE(local.model);
  CHECK(parameter_count(*local.model) == 2 * 8 * 16 + 2 * 8 * 24);
  const Graph& g = local.model->graph;
  CHECK(g[g.find_dim("hidden")].size == 16);
  CHECK(g[g.find_dim("hidden@two")].rule == "hidden");
}

TEST_CASE("a block may give several results, and repeat carries the first operand") {
  Built b = build_text(R"(mtf: 1
name: t
dims: {batch: 4, d: 8, n: 3}
mesh: {}
model:
  inputs: {x: {dims: [batch, d]}, c: {dims: [d]}}
  blocks:
    both:
      takes: x
      steps: [{s: {square: x}}, {e: {exp: x}}]
      gives: {square: s, exp: e}
    more:
      takes: [x, by]
      params: {scale: [d]}
      steps: [{a: {add: [x, by]}}, {b: {multiply: [a, scale]}}]
      gives: b
  steps:
    - pair: {both: x}
    - z: {add: [pair.square, pair.exp]}
    - many: {repeat: more, times: n, from: [z, c]}
  outputs: {z: many}
)");
  INFO(b.text());
  REQUIRE(b.model);
  CHECK(b.found().empty());
  CHECK(paths(*b.model) ==
        std::vector<std::string>{"many[0]/scale", "many[1]/scale", "many[2]/scale"});
  CHECK(parameter(*b.model, "many[1]/scale").init.kind == Init::Kind::constant);
}

TEST_CASE("transformer_lm builds with every combination of its options") {
  int built = 0;
  for (std::string norm : {"rms", "layer"})
    for (std::string feed_forward : {"relu", "gelu", "swiglu", "geglu"})
      for (std::string attention : {"multi_head", "grouped_query"})
        for (std::string positions : {"learned", "sinusoid", "rope"})
          for (std::string rest :
               {"tied: true, bias: false, dropout: 0", "tied: false, bias: true, dropout: 0.1"}) {
            Built b = build_text(
                "mtf: 1\nname: t\nmesh: {}\ndims: {batch: 2, length: 4, d_model: 8, heads: 4, "
                "kv_heads: "
                "2, d_head: 4, d_ff: 8, vocab: 16, layers: 2}\nmodel: {use: transformer_lm, with: "
                "{norm: " +
                norm + ", feed_forward: " + feed_forward + ", attention: " + attention +
                ", positions: " + positions + ", " + rest + "}}\n");
            INFO(b.text());
            REQUIRE(b.model);
            built += !b.diagnostics.has_errors();
          }
  CHECK(built == 96);
}

TEST_CASE("dropout draws anew in each training step and is nothing in evaluation") {
  auto build = [](bool training) {
    BuildOptions options;
    options.training = training;
    return build_text(
        "mtf: 1\nname: t\nmesh: {}\ndims: {batch: 2, d: 4}\nmodel:\n"
        "  inputs: {x: {dims: [batch, d]}}\n"
        "  steps: [{y: {dropout: x, rate: 0.5}}]\n  outputs: {y: y}\n",
        options);
  };
  Built training = build(true), evaluation = build(false);
  REQUIRE(training.model);
  REQUIRE(evaluation.model);
  CHECK(training.model->graph.inputs.size() == 2);
  CHECK(training.model->graph.inputs[1].name == "driver:step");
  CHECK(evaluation.model->graph.inputs.size() == 1);
  CHECK(evaluation.model->graph.outputs[0].node == evaluation.model->graph.inputs[0].node);
}

TEST_CASE("initial values by fans") {
  Built b = build_text(
      "mtf: 1\nname: t\nmesh: {}\ndims: {batch: 2, d: 4, h: 12, k: 3}\nmodel:\n"
      "  inputs: {x: {dims: [batch, d]}}\n"
      "  params:\n"
      "    a: {dims: [d, h, k], init: {fan_in: d}}\n"
      "    b: {dims: [h, k], init: {fan_avg: [[h, k], d]}}\n"
      "    c: {dims: [h], init: {uniform: 0.5}}\n"
      "    e: [d, h]\n"
      "  steps:\n"
      "    - p: {einsum: [x, a]}\n"
      "    - q: {multiply: [p, b]}\n"
      "    - r: {multiply: [q, c]}\n"
      "    - s: {einsum: [r, e], to: [batch, k]}\n"
      "  outputs: {s: s}\n");
  INFO(b.text());
  REQUIRE(b.model);
  CHECK(parameter(*b.model, "a").init.value == Approx(0.5));
  CHECK(parameter(*b.model, "b").init.value == Approx(std::sqrt(2.0 / (36 + 4))));
  CHECK(parameter(*b.model, "c").init.kind == Init::Kind::uniform);
  CHECK(parameter(*b.model, "c").init.value == 0.5);
  CHECK(parameter(*b.model, "e").init.value == Approx(1 / std::sqrt(4.0 * 12)));
}
