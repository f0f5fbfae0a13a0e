// Decoding gives the logits of the whole forward, bit for bit: prefill in pieces of any size, then
// one position at a time, on one rank and on two. Models that look ahead are refused.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "decoding.h"

namespace mtf {
namespace {

void check_decoding(const std::string& path, const Sets& sets, const std::string& more_rules) {
  const std::vector<int32_t> ids = some_ids(24);
  const Logits expected = forward_logits(path, sets, ids);
  REQUIRE(expected.back().size() == 50);
  CHECK(expected[3] != expected[4]);
  auto check = [&](const std::string& mesh, const std::string& layout, int piece) {
    Sets all = sets;
    all.insert(all.end(), {mesh, layout, fmt::format("infer.prefill={}", piece)});
    INFO(mesh << " pieces of " << piece);
    CHECK(decode_difference(path, all, ids, expected) == "");
  };
  for (int piece : {1, 3, 8, 128})
    check("mesh={one: 1}", "layout={}", piece);
  check("mesh={model: 2}",
        fmt::format("layout={{heads: model, d_ff: model, vocab: model{}}}", more_rules), 8);
}

TEST_CASE("decoding equals the forward for every kind of language model") {
  for (const char* norm : {"rms", "layer"})
    for (const char* positions : {"learned", "sinusoid", "rope"})
      for (const char* attention : {"multi_head", "grouped_query"})
        for (bool tied : {true, false}) {
          Sets sets = small;
          sets.insert(sets.end(),
                      {"dims.kv_heads=2",
                       fmt::format("model.with={{norm: {}, positions: {}, attention: {}, tied: {}, "
                                   "feed_forward: {}}}",
                                   norm, positions, attention, tied, tied ? "gelu" : "swiglu")});
          INFO(sets.back());
          check_decoding("specs/lm_bytes.yaml", sets,
                         attention == std::string("multi_head") ? "" : ", kv_heads: model");
        }
}

TEST_CASE("decoding equals the forward for a model of one's own blocks") {
  check_decoding("specs/lm_blocks.yaml", small, "");
}

// ---- models that decoding must not take for the usual one
// ----------------------------------------

struct Written {
  explicit Written(const std::string& text)
      : path(fmt::format("/tmp/mtf-decode-{}.yaml", getpid())) {
    std::ofstream(path) << text;
  }
  ~Written() { unlink(path.c_str()); }
  const std::string path;
};

std::string with_replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

const std::string one_layer =
    "mtf: 1\nname: one\n"
    "dims: {batch: 2, length: 24, memory: length, d: 32, heads: 2, key: 16, vocab: 50, other: "
    "vocab}\n"
    "model:\n  inputs: {tokens: {dims: [batch, length], dtype: i32}, kinds: {dims: [batch, "
    "length], dtype: i32}}\n"
    "  params: {table: [vocab, d], place: [length, d], wq: [d, heads, key], wk: [d, heads, key], "
    "wv: [d, heads, key],\n"
    "           wo: [heads, key, d]}\n"
    "  steps:\n"
    "    - row: {embedding: [table, tokens], over: vocab}\n"
    "    - x: {add: [row, place]}\n"
    "    - q: {einsum: [x, wq]}\n"
    "    - k_here: {einsum: [x, wk]}\n"
    "    - v_here: {einsum: [x, wv]}\n"
    "    - k: {rename: k_here, dims: {length: memory}}\n"
    "    - v: {rename: v_here, dims: {length: memory}}\n"
    "    - mixed: {attention: [q, k, v], rows: length, over: memory, key: key, causal: true}\n"
    "    - y: {einsum: [mixed, wo]}\n"
    "    - z: {add: [x, y]}\n"
    "    - logits: {einsum: [z, table], to: [batch, length, vocab]}\n"
    "  outputs: {logits: logits}\n"
    "data: {synthetic: {tokens: {uniform: vocab}, kinds: {uniform: vocab}}}\n";

TEST_CASE("a last piece that would cross the end leaves the positions where they are") {
  const Written file(one_layer);
  const std::vector<int32_t> ids = some_ids(24);
  const Logits expected = forward_logits(file.path, {}, ids);
  for (int piece : {5, 16, 23})  // prompts of 20 to 24 cross the end
    CHECK(decode_difference(file.path, {fmt::format("infer.prefill={}", piece)}, ids, expected) ==
          "");
}

TEST_CASE("logits may have their dims in any order") {
  const std::vector<int32_t> ids = some_ids(24);
  const Written usual(one_layer);
  const Logits expected = forward_logits(usual.path, {}, ids);
  for (const char* order : {"[batch, vocab, length]", "[vocab, length, batch]"}) {
    INFO(order);
    const Written file(
        with_replaced(one_layer, "to: [batch, length, vocab]", fmt::format("to: {}", order)));
    CHECK(decode_difference(file.path, {"infer.prefill=7"}, ids, expected) == "");
  }
}

TEST_CASE("rules for past dims, caches and renamed logits do not change a bit") {
  const std::vector<int32_t> ids = some_ids(24);
  const Written file(with_replaced(one_layer,
                                   "    - logits: {einsum: [z, table], to: [batch, length, vocab]}",
                                   "    - raw: {einsum: [z, table], to: [batch, length, vocab]}\n"
                                   "    - logits: {rename: raw, dims: {vocab: other}}"));
  const char* blocks = "numerics.blocks={memory: 2, heads: 2}";  // so that halves are exact
  const Logits expected = forward_logits(file.path, {blocks}, ids);
  for (const char* layout :
       {"{memory: m}", "{length: m}", "{batch: m}", "{vocab: m, other: m}",
        "{rules: {heads: m}, tensors: {'*k*': {heads: m}}}", "{tensors: {k: {heads: m}}}",
        "{tensors: {k_here: {heads: m}, v: {key: m}}}",
        "{tensors: {'*': {length: m, memory: m}}}"}) {
    INFO(layout);
    CHECK(decode_difference(
              file.path,
              {"mesh={m: 2}", fmt::format("layout={}", layout), blocks, "infer.prefill=7"}, ids,
              expected) == "");
  }
}

// In bf16 attention casts both operands itself, so that what is cached are two parts of one step.
TEST_CASE("every operand of attention has a cache of its own") {
  const Written file(with_replaced(
      with_replaced(one_layer, "k: {rename: k_here",
                    "k32: {cast: k_here, dtype: f32}\n    - k: {rename: k32"),
      "v: {rename: v_here", "v32: {cast: v_here, dtype: f32}\n    - v: {rename: v32"));
  const Planned p = planned(file.path, {"numerics.compute=bf16"}, Job::infer);
  INFO(p.messages);
  REQUIRE(p.plan);
  std::set<std::string> names;
  for (const Persistent& r : p.plan->resident.list)
    if (r.value.storage == Storage::cache)
      names.insert(r.name);
  CHECK(names == std::set<std::string>{"cache:mixed", "cache:mixed#2"});
  const std::vector<int32_t> ids = some_ids(24);
  const Logits expected = forward_logits(file.path, {"numerics.compute=bf16"}, ids);
  CHECK(decode_difference(file.path, {"numerics.compute=bf16", "infer.prefill=7"}, ids, expected) ==
        "");
}

TEST_CASE("blocks of the batch are for the loss alone") {
  const Written file(one_layer);
  const Planned p = planned(file.path, {"numerics.blocks={batch: 2, length: 4}"}, Job::infer);
  CHECK(p.messages == "");
  CHECK(p.plan);
}

TEST_CASE("what decoding cannot do is said before it starts") {
  auto messages = [](const std::string& text, const Sets& sets) {
    const Written file(text);
    const Planned p = planned(file.path, sets, Job::infer);
    CHECK(!p.plan);
    return p.messages;
  };
  CHECK(messages(one_layer, {"infer.along=lenght"}) == "the model has no dim 'lenght' to decode\n");
  CHECK(messages(one_layer, {"infer.tokens=words"}) ==
        "the model has no input 'words' to decode\n");
  CHECK(messages(one_layer, {"infer={tokens: words, logits: scores}"}) ==
        "the model has no input 'words' to decode\nthe model has no output 'scores' to decode\n");
  CHECK(messages(one_layer, {"infer.dims={batch: 2}"}) ==
        "'tokens' is i32[batch=2, length=24]; decoding takes one example at a time, so only "
        "'length' may be longer than 1\n");
  CHECK(messages(one_layer, {"numerics.blocks={lenght: 4}"}) == "no tensor has a dim 'lenght'\n");
  CHECK(messages(one_layer, {"infer.tokens=kinds"}) ==
        "'logits' depends on the input 'tokens', and decoding gives a model nothing but 'kinds'\n"
        "'logits' does not depend on 'kinds', so there is nothing to decode\n");
  CHECK(messages(with_replaced(one_layer, "{logits: logits}", "{logits: q}"), {}) ==
        "'logits' is f32[batch=1, length=24, heads=2, key=16]; logits are floats along 'length' "
        "and one more dim, that of "
        "the tokens to choose from\n");
  CHECK(messages(with_replaced(one_layer, "    - x: {add: [row, place]}",
                               "    - kind: {embedding: [table, kinds], over: vocab}\n    - both: "
                               "{add: [row, kind]}\n"
                               "    - x: {add: [both, place]}"),
                 {}) ==
        "'logits' depends on the input 'kinds', and decoding gives a model nothing but 'tokens'\n");
}

// ---- refusals ----------------------------------------------------------------------------------

std::string refusal(const std::string& steps) {
  const std::string path = fmt::format("/tmp/mtf-decode-{}.yaml", getpid());
  std::ofstream(path)
      << "mtf: 1\nname: refused\ndims: {batch: 2, length: 8, memory: length, d: 16, heads: 2, key: "
         "8, vocab: 20}\n"
         "model:\n  inputs: {tokens: {dims: [batch, length], dtype: i32}}\n"
         "  params: {table: [vocab, d], wq: [d, heads, key], wo: [heads, key, d]}\n  steps:\n"
         "    - x: {embedding: [table, tokens], over: vocab}\n"
      << steps
      << "    - logits: {einsum: [y, table], to: [batch, length, vocab]}\n  outputs: {logits: "
         "logits}\n"
         "data: {synthetic: {tokens: {uniform: vocab}}}\n";
  const Planned p = planned(path, {}, Job::infer);
  unlink(path.c_str());
  CHECK(!p.plan);
  return p.messages;
}

const std::string attend =
    "    - q: {einsum: [x, wq]}\n    - k_here: {einsum: [x, wq]}\n    - k: {rename: k_here, dims: "
    "{length: memory}}\n"
    "    - mixed: {attention: [q, k, k], rows: length, over: memory, key: key, causal: CAUSAL}\n"
    "    - y: {einsum: [mixed, wo]}\n";

std::string with_causal(const char* value) {
  std::string text = attend;
  return text.replace(text.find("CAUSAL"), 6, value);
}

TEST_CASE(
    "a model that looks at other positions in any other way is refused by the name of the op") {
  const std::string tail =
      " over positions, so this model cannot be decoded one position at a time\n";
  CHECK(refusal("    - m: {reduce_mean: x, over: length}\n    - y: {add: [x, m]}\n") ==
        "m does not keep 'length'" + tail);
  CHECK(refusal("    - y: {shift: x, over: length, offset: 1}\n") ==
        "y does not keep 'length'" + tail);
  CHECK(refusal("    - y: {softmax: x, over: length}\n") == "y does not keep 'length'" + tail);
  CHECK(refusal("    - y: {cumsum: x, over: length}\n") == "y does not keep 'length'" + tail);
  CHECK(refusal(with_causal("false")) == "mixed mixes 'length'" + tail);
}

TEST_CASE("a causal model is not refused") {
  const std::string path = fmt::format("/tmp/mtf-decode-{}.yaml", getpid());
  std::ofstream(path)
      << "mtf: 1\nname: causal\ndims: {batch: 2, length: 8, memory: length, d: 16, heads: 2, key: "
         "8, vocab: 20}\n"
         "model:\n  inputs: {tokens: {dims: [batch, length], dtype: i32}}\n"
         "  params: {table: [vocab, d], wq: [d, heads, key], wo: [heads, key, d]}\n  steps:\n"
         "    - x: {embedding: [table, tokens], over: vocab}\n"
      << with_causal("true")
      << "    - logits: {einsum: [y, table], to: [batch, length, vocab]}\n  outputs: {logits: "
         "logits}\n"
         "data: {synthetic: {tokens: {uniform: vocab}}}\n";
  const Planned p = planned(path, {}, Job::infer);
  unlink(path.c_str());
  CHECK(p.messages == "");
  REQUIRE(p.plan);
  CHECK(p.plan->resident.bytes_of(Storage::cache) ==
        8 * 2 * 8 * 4);  // k is v: one cache [length, heads, key]
}

}  // namespace
}  // namespace mtf
