// The two laws on the shipped specs: equal bits on every layout, and what the plan says is what
// runs.
#include <catch2/catch.hpp>

#include <cmath>

#include "training.h"

namespace mtf {
namespace {

using Sets = std::vector<std::string>;

Sets with(Sets a, const Sets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Trains `spec` on one rank and in every layout; all must be the same bits and as planned.
void check_layouts(const std::string& spec, const Sets& always, const std::vector<Sets>& layouts,
                   Machine machine = {}) {
  const Outcome one = train_in_threads(spec, with(always, {"mesh={one: 1}", "layout={}"}));
  INFO(one.messages);
  REQUIRE(one.planned);
  CHECK(one.lies == "");
  for (const Sets& layout : layouts) {
    const Outcome split = train_in_threads(spec, with(always, layout), machine);
    INFO(spec << " " << layout[0] << " " << (layout.size() > 1 ? layout[1] : "") << "\n"
              << split.messages);
    REQUIRE(split.planned);
    CHECK(split.exact_sums == split.sums);
    CHECK(split.lies == "");
    CHECK(difference(one, split) == "");
  }
}

TEST_CASE("two_layer.yaml is the same bits in the six layouts of the paper") {
  check_layouts(
      "specs/two_layer.yaml", {"train.steps=3", "dims.batch=128", "dims.io=64", "dims.hidden=256"},
      {{"mesh={all: 4}", "layout={batch: all}"},
       {"mesh={all: 4}", "layout={hidden: all}"},
       {"mesh={rows: 2, cols: 2}", "layout={batch: rows, hidden: cols}"},
       {"mesh={rows: 2, cols: 2}", "layout={io: rows, hidden: cols}"},
       {"mesh={planes: 2, rows: 2, cols: 2}", "layout={batch: planes, io: rows, hidden: cols}"}});
}

TEST_CASE("digits_mlp.yaml is the same bits in its three layouts") {
  check_layouts("specs/digits_mlp.yaml", {"train.steps=5", "train.eval_every=null"},
                {{"mesh={all: 4}", "layout={batch: all}"},
                 {"mesh={all: 4}", "layout={hidden: all}"},
                 {"mesh={rows: 2, cols: 2}", "layout={batch: rows, hidden: cols}"}});
}

const Sets small_lm = {"train.steps=5", "train.eval_every=null", "dims.length=32", "dims.d_ff=256",
                       "dims.layers=2"};
const std::vector<Sets> lm_layouts = {
    {"mesh={data: 2}", "layout={batch: data}"},
    {"mesh={model: 2}", "layout={heads: model, d_ff: model, vocab: model}"},
    {"mesh={model: 2}", "layout={vocab: model}"},
    {"mesh={data: 4}", "layout={batch: data}"},
    {"mesh={model: 4}", "layout={heads: model, d_ff: model, vocab: model, length: 'model?'}"},
    {"mesh={data: 2, model: 2}", "layout={batch: data, heads: model, d_ff: model, vocab: model}"},
    {"mesh={data: 2, model: 2}",
     "layout={batch: data, heads: model, d_ff: model, vocab: model, length: 'model?'}"},
    {"mesh={data: 4, model: 2}",
     "layout={batch: data, heads: model, d_ff: model, vocab: model, length: 'model?'}"},
    {"mesh={pod: 2, data: 2, model: 2}",
     "layout={batch: [pod, data], heads: model, d_ff: model, vocab: model}"},
};

TEST_CASE("lm_bytes.yaml is the same bits on every mesh") {
  check_layouts("specs/lm_bytes.yaml", small_lm, lm_layouts);
}

TEST_CASE("lm_bytes.yaml is the same bits with two threads a rank") {
  check_layouts("specs/lm_bytes.yaml", small_lm, {lm_layouts[0], lm_layouts[6]},
                {2, best_isa(), true});
}

TEST_CASE("lm_bytes.yaml is the same bits on every instruction set") {
  for (Isa isa : {Isa::avx2, Isa::portable})
    if (isa_available(isa))
      check_layouts("specs/lm_bytes.yaml", with(small_lm, {"train.steps=2"}), {lm_layouts[5]},
                    {1, isa});
}

TEST_CASE("sizes that are no powers of two are the same bits") {
  check_layouts(
      "specs/lm_bytes.yaml",
      with(small_lm, {"dims.d_model=60", "dims.heads=12", "dims.d_head=20", "dims.vocab=250",
                      "dims.d_ff=120", "data={synthetic: {tokens: {uniform: vocab}}}"}),
      {{"mesh={data: 2, model: 2}",
        "layout={batch: data, heads: model, d_ff: model, vocab: model}"},
       {"mesh={model: 4}", "layout={heads: model}"}});
}

TEST_CASE("microbatches are the same bits on every mesh, with both kinds of accumulation") {
  for (const char* kind : {"reduced", "blocks"})
    check_layouts("specs/lm_bytes.yaml",
                  with(small_lm, {"train.steps=3", "train.microbatches=2",
                                  std::string("train.accumulate=") + kind}),
                  {lm_layouts[0], lm_layouts[5]});
}

TEST_CASE("lm_blocks.yaml is the same bits as lm_bytes.yaml") {
  const Outcome library = train_in_threads("specs/lm_bytes.yaml", small_lm);
  const Outcome blocks = train_in_threads("specs/lm_blocks.yaml", small_lm);
  REQUIRE(library.planned);
  REQUIRE(blocks.planned);
  CHECK(difference(library, blocks) == "");
}

TEST_CASE("a reshape that uses a dim on both sides is the same bits on every mesh") {
  const std::string spec = R"(
mtf: 1
name: reshaped
dims: {batch: 8, heads: 4, d_head: 8}
mesh: {p: 2}
layout: {heads: p}
model:
  inputs: {x: {dims: [batch, heads, d_head]}, y: {dims: [batch, d_head, heads]}}
  params: {w: {dims: [heads, d_head], init: {normal: 1}}}
  steps:
    - s: {multiply: [x, w]}
    - t: {reshape: s, from: [heads, d_head], to: [d_head, heads]}
    - loss: {mean_squared_error: [t, y]}
  loss: loss
data: {synthetic: {x: {normal: 1.0}, y: {normal: 1.0}}}
train: {steps: 3, optimizer: {sgd: {learning_rate: 0.1}}, seed: 1}
)";
  const Outcome one = train_text(spec, {"mesh={one: 1}", "layout={}"});
  for (const char* layout : {"layout={heads: p}", "layout={d_head: p}"}) {
    const Outcome split = train_text(spec, {layout});
    INFO(split.messages);
    REQUIRE(split.planned);
    CHECK(split.lies == "");
    CHECK(difference(one, split) == "");
  }
}

TEST_CASE("sizes that are expressions of the batch follow microbatches") {
  const std::string spec = R"(
mtf: 1
name: flattened
dims: {batch: 8, length: 4, rows: batch * length, pairs: rows / 2, two: 2, d: 8, e: 6}
mesh: {p: 2}
layout: {batch: p}
model:
  inputs: {x: [batch, length, d], ids: {dims: [batch, length], dtype: i32}}
  params: {w: {dims: [d, e], init: {fan_in: [batch]}}}
  steps:
    - s: {reshape: x, from: [batch, length], to: [rows]}
    - t: {einsum: [s, w]}
    - u: {reshape: t, from: [rows], to: [pairs, two]}
    - y: {reshape: u, from: [pairs, two], to: [batch, length]}
    - loss: {cross_entropy: [y, ids], over: e}
  loss: loss
data: {synthetic: {x: {normal: 1.0}, ids: {uniform: e}}}
numerics: {compute: f64}
train: {steps: 4, optimizer: {momentum: {learning_rate: 0.1}}, seed: 1}
)";
  const Outcome whole = train_text(spec, {"mesh={one: 1}", "layout={}"});
  REQUIRE(whole.planned);
  for (const char* microbatches : {"train.microbatches=2", "train.microbatches=4"}) {
    const Outcome one = train_text(spec, {"mesh={one: 1}", "layout={}", microbatches});
    INFO(one.messages);
    REQUIRE(one.planned);
    for (size_t step = 0; step < whole.losses.size(); ++step)
      CHECK(one.losses[step] == Approx(whole.losses[step]).epsilon(1e-12));
    const Outcome split = train_text(spec, {microbatches});
    INFO(split.messages);
    REQUIRE(split.planned);
    CHECK(split.lies == "");
    CHECK(difference(one, split) == "");
  }
}

TEST_CASE("a gradient that is not finite reaches no parameter, though the loss is finite") {
  // The square root of 0, at the last index of d alone.
  const std::string spec = R"(
mtf: 1
name: rooted
dims: {batch: 8, h: 3, d: 4}
mesh: {p: 2}
layout: {d: p}
model:
  inputs: {x: [batch, d], target: [batch, d]}
  params: {w: {dims: [d], init: {constant: 1}}, b: {dims: [d], init: {constant: 2}}}
  steps:
    - i: {iota: [], over: h}
    - f: {cast: i, dtype: f32}
    - e: {exp: f}
    - j: {pad: e, over: h, to: d}
    - s: {multiply: [w, j]}
    - r: {sqrt: s}
    - z: {multiply: [x, r]}
    - y: {add: [z, b]}
    - loss: {mean_squared_error: [y, target]}
  loss: loss
data: {synthetic: {x: {normal: 1.0}, target: {normal: 1.0}}}
train: {steps: 2, optimizer: {adamw: {learning_rate: 0.1}}, seed: 1}
)";
  const auto filled = [](float x) {
    const std::vector<float> numbers(4, x);
    const auto bytes = std::as_bytes(std::span(numbers));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  for (const char* clip : {"train.clip=null", "train.clip={global_norm: 1}"})
    for (const char* layout : {"layout={d: p}", "layout={batch: p}"}) {
      const Outcome o = train_text(spec, {clip, layout, "train.microbatches=2"});
      INFO(clip << layout << o.messages);
      REQUIRE(o.planned);
      CHECK(o.lies == "");
      for (double loss : o.losses)
        CHECK(std::isfinite(loss));
      CHECK(o.tensors.at("parameter:w") == filled(1));
      CHECK(o.tensors.at("parameter:b") == filled(2));
      CHECK(o.tensors.at("state:b/m") == filled(0));
    }
}

TEST_CASE("bf16 computes the same bits on every mesh") {
  check_layouts("specs/lm_bytes.yaml",
                with(small_lm, {"numerics={compute: bf16}", "train.steps=3"}),
                {lm_layouts[0], lm_layouts[1], lm_layouts[6]});
}

}  // namespace
}  // namespace mtf
