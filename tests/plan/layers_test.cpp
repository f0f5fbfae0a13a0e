// Specs with a mistake in each layer: what is found in one pass, and that nothing follows from
// another mistake.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/text.h"
#include "planning.h"

using namespace mtf;

namespace {

using Lines = std::vector<std::string>;

// "code line" of all that validate finds, in the order of lines.
Lines found_in(const std::string& yaml) {
  const TextFile file(yaml);
  Sources sources;
  Diagnostics diagnostics;
  const Spec spec = read_spec(sources, file.path(), {}, diagnostics);
  make_plan(spec, sources, natural_job(spec), diagnostics);
  check_inference(spec, sources, diagnostics);
  std::vector<std::pair<int, std::string>> list;
  for (const Diagnostic& d : diagnostics.all())
    list.emplace_back(d.where.line, fmt::format("{} {}", id_of(d.code), d.where.line));
  std::sort(list.begin(), list.end());
  Lines out;
  for (auto& [line, text] : list)
    out.push_back(std::move(text));
  return out;
}

}  // namespace

TEST_CASE("one mistake in each layer, all found at once") {
  CHECK(found_in(R"(mtf: 1
dims:
  batch: 16
  d: 60
  heads: 6
  d_head: d / heads
  wrong: nope / 2
  ff: 64
  spare: 3
  spare: 4
mesh: {data: 2, model: 4}
layout:
  batch: data
  heads: model
  hedas: model
  ff: modle
  d: data
model:
  inputs: {x: [batch, d], target: [batch, d]}
  params:
    w: [d, heads, d_head]
    u: [heads, d_head, ff]
    v: [ff, d]
    e: [wrong, d]
  steps:
    - q: {einsum: [x, w]}
    - h: {einsum: [q, u]}
    - a: {rleu: h}
    - b: {mean_squared_error: [x, w]}
    - c: {einsum: [x, e]}
    - y: {einsum: [a, v]}
    - loss: {mean_squared_error: [y, target]}
  loss: loss
data: {synthetic: {x: {normal: 1}, target: {normal: 1}}}
train:
  microbatches: 3
  steps: 0
  optimizer: {sgd: {learning_rte: 0.1}}
)") == Lines{"dims.expression 7", "dims.unused 9", "yaml.duplicate-key 10", "layout.indivisible 14",
             "layout.unknown-dim 15", "layout.inexact 16", "layout.unknown-axis 16",
             "layout.axis-reused 17", "model.unknown-name 28", "model.shape 29",
             "train.microbatches 36", "spec.range 37", "spec.unknown-key 38"});
}

TEST_CASE("the budget is checked although there are warnings, decoding although training fails") {
  const std::string start = R"(mtf: 1
dims: {batch: 16, length: 8, d_model: 64, heads: 4, d_head: 16, d_ff: 64, vocab: 32, layers: 2, n: 1}
mesh: {data: 2}
layout: {batch: data}
model: {use: transformer_lm}
data: {synthetic: {tokens: {uniform: vocab}}}
)";
  CHECK(found_in(start + "budget: {memory: 1KiB}\n"
                         "train: {steps: 1, optimizer: {sgd: {learning_rate: 0.1}}}\n") ==
        Lines{"dims.unused 2", "budget.exceeded 7"});
  CHECK(found_in(start + "infer: {mesh: {m: 3}, layout: {heads: m}}\n"
                         "train: {steps: 1, optimizer: {sgd: {learning_rate: 0.1}}, microbatches: "
                         "5}\n") ==
        Lines{"dims.unused 2", "layout.indivisible 7", "train.microbatches 8"});
}

TEST_CASE("what a broken name leaves unknown is no mistake of its own") {
  // Of a family with a wrong option nothing is known, so that no dim is unused and no rule vain.
  CHECK(found_in(R"(mtf: 1
dims: {batch: 16, length: 8, d_model: 64, heads: 4, d_head: 16, d_ff: 64, vocab: 32, layers: 2}
mesh: {data: 2, model: 2}
layout: {batch: data, heads: model, memory_length: model, d_mdoel: data}
model: {use: transformer_lm, with: {norm: batch}}
)") == Lines{"layout.unknown-dim 4", "model.unknown-name 5"});
  // Where one name is meant, that is taken, and what lies behind it is found.
  CHECK(found_in(R"(mtf: 1
dims: {batch: 16, length: 8, d_model: 64, heads: 4, d_head: 16, d_ff: 64, vocab: 32, layers: 2}
mesh: {data: 2, model: 2}
layout: {batch: data, heads: model, memory_length: model, d_mdoel: data}
model: {use: transformer_lm, with: {norm: layr}}
)") == Lines{"layout.axis-reused 4", "layout.unknown-dim 4", "model.unknown-name 5"});
  // A cycle is one mistake, whichever of its dims the model uses first.
  CHECK(found_in(R"(mtf: 1
dims: {a: b, b: c, c: a, d: 4}
model:
  inputs: {x: [c, b], y: [d, b]}
  steps: [{z: {add: [x, y]}}]
  outputs: {z: z}
)") == Lines{"dims.expression 2"});
}

TEST_CASE("a conflict of ops is found beside one of parameters") {
  // w is indivisible as it rests; the product that reads it takes the axis twice.
  CHECK(found_in(R"(mtf: 1
dims: {batch: 16, d: 8, e: 6}
mesh: {data: 4}
layout:
  batch: data
  e: data
model:
  inputs: {x: [batch, d], target: [batch, e]}
  params: {w: [d, e]}
  steps: [{y: {einsum: [x, w]}}, {loss: {mean_squared_error: [y, target]}}]
  loss: loss
data: {synthetic: {x: {normal: 1}, target: {normal: 1}}}
train: {steps: 1, optimizer: {sgd: {learning_rate: 0.1}}}
)") == Lines{"layout.axis-reused 6", "layout.indivisible 6"});
}

TEST_CASE("what nothing reads: inputs, options, rules of tensors") {
  CHECK(found_in(R"(mtf: 1
dims: {batch: 16, d: 8}
mesh: {data: 4}
layout:
  rules: {batch: data}
  tensors:
    "w": {d: data}
    "x": {d: data,
          batch: data}
model:
  inputs:
    x: [batch]
    label: [batch]
    unread: [batch, d]
  params: {w: [d]}
  blocks:
    b:
      takes: p
      with: {act: relu,
             rest: 1}
      steps: [{q: {$act: p}}]
      gives: q
  steps: [{y: {b: x}}, {z: {square: w}}]
  outputs: {label: y, z: z}
)") == Lines{"layout.rule-unused 8", "model.unused 14", "model.unused 20"});
}

TEST_CASE("a broken budget says by how much, what takes most, and what would help") {
  const Planned planned = plan_file("specs/two_layer.yaml", {"budget.memory=50MiB"});
  REQUIRE(planned.plan);
  const int64_t needed = planned.plan->device_bytes(1);
  CHECK(planned.messages.find(fmt::format(": {} (", with_commas(needed - (50 << 20)))) !=
        std::string::npos);
  const Planned weights = plan_file("specs/two_layer.yaml",
                                    {"budget.memory=1MiB", "dims.batch=4", "mesh={}", "layout={}"});
  REQUIRE(weights.found.size() == 1);
  const Diagnostic& d = weights.found[0];
  // w and v are 512 x 4096 numbers of f32, the bias 4096.
  REQUIRE(d.notes.size() == 1);
  CHECK(d.notes[0].second.find("parameters " + in_bytes((2 * 512 * 4096 + 4096) * 4)) !=
        std::string::npos);
  CHECK(d.help.text ==
        "split dims of the largest: v 8.00 MiB of f32 [hidden=4096, io=512], w 8.00 MiB of f32 "
        "[io=512, hidden=4096] and bias 16.00 KiB of f32 [hidden=4096]");
}

TEST_CASE("a name or key that is wrong once is said once, however often it is read") {
  CHECK(found_in(R"(mtf: 1
dims: {batch: 16, d: 8}
model:
  inputs:
    x: {dims: [batch, d]}
    ids: {dims: [batch], dtyp: i32}
  params: {w: {dim: [d, gone]}, v: [d, gone], table: [gone, d]}
  steps:
    - a: {embedding: [table, ids], over: gone}
    - b: {add: [nothing, a]}
    - c: {multiply: [nothing, x]}
    - e: {einsum: [x, v]}
    - z: {einsum: [x, w]}
  outputs: {z: z}
)") == Lines{"spec.unknown-key 6", "spec.unknown-key 7", "dims.expression 9",
             "model.unknown-name 10"});
}
