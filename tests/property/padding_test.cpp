// Both laws on models with padded dims, and that padding changes nothing: B062, B064 and B066 of
// the reported faults among them.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "decoding.h"
#include "io/checkpoint.h"
#include "runtime/thread_communicator.h"
#include "runtime/thread_pool.h"
#include "runtime/trainer.h"
#include "training.h"

namespace mtf {
namespace {

const std::string lm = "specs/lm_bytes.yaml";
const Sets alone = {"mesh={one: 1}", "layout={}"};
// vocab is to be given: 257 tokens, with and without padding.
const Sets tiny = {"train.eval_every=null", "dims.batch=8",
                   "dims.length=16",        "dims.d_model=32",
                   "dims.d_head=32",        "dims.d_ff=128",
                   "dims.layers=2",         "data={synthetic: {tokens: {uniform: vocab}}}"};
const std::string unpadded = "dims.vocab=257";

Sets with(Sets a, const Sets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string padded_to(int multiple) {
  return fmt::format("dims.vocab={{size: 257, pad: {}}}", multiple);
}

Outcome trained(const Sets& sets) {
  Outcome out = train_in_threads(lm, sets);
  INFO(out.messages);
  REQUIRE(out.planned);
  CHECK(out.lies == "");
  return out;
}

void check_layouts(const Sets& always, const std::vector<Sets>& layouts) {
  const Outcome one = trained(with(always, alone));
  for (const Sets& layout : layouts) {
    INFO(layout[0] << " " << layout[1]);
    const Outcome split = trained(with(always, layout));
    INFO(split.messages);
    CHECK(split.exact_sums == split.sums);
    CHECK(difference(one, split) == "");
  }
}

void check_close(const Outcome& a, const Outcome& b, double relative) {
  REQUIRE(a.losses.size() == b.losses.size());
  for (size_t i = 0; i < a.losses.size(); ++i) {
    INFO("step " << i + 1);
    CHECK(a.losses[i] == Approx(b.losses[i]).epsilon(relative));
  }
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (const auto& [name, bytes] : a.tensors)
    CHECK(b.tensors.at(name).size() == bytes.size());
}

const std::vector<Sets> layouts = {
    {"mesh={model: 2}", "layout={heads: model, d_ff: model, vocab: model}"},
    {"mesh={model: 2}", "layout={vocab: model}"},
    {"mesh={model: 4}", "layout={heads: model, d_ff: model, vocab: model, length: 'model?'}"},
    {"mesh={data: 2, model: 2}", "layout={batch: data, heads: model, d_ff: model, vocab: model}"},
    {"mesh={data: 4}", "layout={batch: data}"},
    {"mesh={data: 2, model: 2}",
     "layout={rules: {batch: data, vocab: model}, tensors: {table: {vocab: [data, model]}}}"},
};

TEST_CASE("a padded vocabulary is the same bits on 1, 2 and 4 ranks") {
  for (int multiple : {8, 128})
    check_layouts(with(tiny, {"train.steps=5", padded_to(multiple)}), layouts);
}

TEST_CASE("so it is in every kind of language model") {
  const std::string optimizers[] = {"{sgd: {learning_rate: 0.3}}",
                                    "{momentum: {learning_rate: 0.1}}",
                                    "{adam: {learning_rate: 0.01, epsilon: 0}}"};
  int i = 0;
  for (const char* model :
       {"{tied: false, norm: layer, bias: true, feed_forward: swiglu}",
        "{positions: rope, dropout: 0.2}", "{positions: sinusoid, attention: grouped_query}"})
    for (const char* numerics : {"numerics={compute: f32}", "numerics={compute: bf16}"})
      check_layouts(
          with(tiny, {"train.steps=3", padded_to(24), "dims.kv_heads=2", numerics,
                      fmt::format("model.with={}", model), "train.optimizer=" + optimizers[i++ % 3],
                      i % 2 ? "train.microbatches=2" : "train.microbatches=1",
                      i % 2 ? "train.accumulate=blocks" : "train.accumulate=reduced"}),
          {layouts[0], layouts[3]});
}

// All dims of a model, none of whose sizes an axis divides.
const Sets odd_sizes = {"dims.batch=5",  "dims.length=15", "dims.d_model=30", "dims.heads=3",
                        "dims.d_head=7", "dims.d_ff=50",   "dims.vocab=257",  "train.steps=4"};
const Sets odd_padded = {"dims.batch={size: 5, pad: 8}",     "dims.length={size: 15, pad: 8}",
                         "dims.d_model={size: 30, pad: 32}", "dims.heads={size: 3, pad: 4}",
                         "dims.d_head={size: 7, pad: 8}",    "dims.d_ff={size: 50, pad: 16}",
                         "dims.vocab={size: 257, pad: 16}",  "train.steps=4"};

TEST_CASE("all dims of a model may be padded and split") {
  const Sets always = with(tiny, odd_padded);
  const std::string blocks =
      "numerics={blocks: {batch: 4, length: 4, memory_length: 4, d_model: 4, heads: 4, d_ff: 4, "
      "vocab: 4}}";
  check_layouts(with(always, {blocks}), {{"mesh={a: 4}", "layout={batch: a}"},
                                         {"mesh={a: 4}", "layout={heads: a, d_ff: a, vocab: a}"},
                                         {"mesh={a: 4}", "layout={length: a, memory_length: 'a?'}"},
                                         {"mesh={a: 2, b: 2}", "layout={batch: a, d_model: b}"},
                                         {"mesh={a: 2, b: 2}", "layout={heads: a, d_ff: b}"}});
  check_close(trained(with(with(tiny, odd_sizes), alone)), trained(with(always, alone)), 1e-5);
}

TEST_CASE("initial values are those of the dims without padding, bit for bit") {
  const Sets still = {"train.steps=1", "train.optimizer={sgd: {learning_rate: 0}}"};
  const Outcome plain = trained(with(with(with(tiny, odd_sizes), still), alone));
  const Outcome padded = trained(with(with(with(tiny, odd_padded), still), alone));
  REQUIRE(plain.tensors.size() == padded.tensors.size());
  for (const auto& [name, bytes] : plain.tensors) {
    INFO(name);
    CHECK(padded.tensors.at(name) == bytes);
  }
}

TEST_CASE("B062: 200 steps on a vocabulary of 257, split in two, are those of one rank") {
  for (const char* optimizer : {"{sgd: {learning_rate: 0.3}}", "{adam: {learning_rate: 1.0e-3}}"}) {
    INFO(optimizer);
    const Sets always = with(tiny, {"train.steps=200", "dims.layers=1", "dims.batch=4",
                                    std::string("train.optimizer=") + optimizer});
    const Outcome plain = trained(with(with(always, {unpadded}), alone));
    const Outcome one = trained(with(with(always, {padded_to(2)}), alone));
    const Outcome two = trained(with(with(always, {padded_to(2)}), layouts[0]));
    CHECK(difference(one, two) == "");
    check_close(plain, one, 1e-3);
  }
}

TEST_CASE(
    "B064: ids 256 and 257 of a vocabulary of 258, split in four, have the logits of one rank") {
  Sets sets = small;
  sets.insert(sets.end(), {"dims.d_head=32", "dims.vocab=258"});
  std::vector<int32_t> ids = some_ids(24);
  for (size_t i = 0; i < ids.size(); i += 3)
    ids[i] = 256 + static_cast<int32_t>(i % 2);
  const Logits expected = forward_logits(lm, sets, ids);
  REQUIRE(expected[0].size() == 258);
  for (const char* vocab : {"dims.vocab={size: 258, pad: 4}", "dims.vocab={size: 258, pad: 128}"})
    for (const char* layout : {"layout={vocab: model}", "layout={heads: model, vocab: model}"}) {
      sets.back() = vocab;
      INFO(vocab << " " << layout);
      CHECK(decode_difference(lm, with(sets, {"mesh={model: 4}", layout}), ids, expected) == "");
    }
}

TEST_CASE("decoding with padded positions equals the forward") {
  const std::vector<int32_t> ids = some_ids(23);
  const Logits plain = forward_logits(lm, with(small, {"dims.length=23"}), ids);
  const Sets sets = with(small, {"dims.length={size: 23, pad: 8}"});
  const Logits padded = forward_logits(lm, sets, ids);
  for (size_t i = 0; i < ids.size(); ++i)
    for (size_t k = 0; k < plain[i].size(); ++k)
      CHECK(padded[i][k] == Approx(plain[i][k]).epsilon(1e-4).margin(1e-4));
  for (const char* mesh : {"mesh={model: 1}", "mesh={model: 2}"})
    CHECK(decode_difference(
              lm, with(sets, {mesh, "layout={heads: model, vocab: model}", "infer.prefill=5"}), ids,
              padded) == "");
}

// ---- checkpoints -------------------------------------------------------------------------------

struct Directory {
  explicit Directory(const char* name) : path(fmt::format("/tmp/mtf-{}-{}", name, getpid())) {
    std::filesystem::remove_all(path);
  }
  ~Directory() { std::filesystem::remove_all(path); }
  const std::string path;
};

// Trains until `train.steps`, from the start or from what the directory holds; the loss of each
// step.
std::vector<double> trained_in(const std::string& directory, const Sets& sets, bool resume) {
  const Planned p = planned(lm, sets, Job::train);
  INFO(p.messages);
  REQUIRE(p.plan);
  std::vector<double> losses;
  run_ranks(p.plan->mesh.ranks(), [&](Communicator& c) {
    ThreadPool pool(1);
    CpuBackend backend(pool.team(), best_isa());
    const Feed feed(*p.spec, *p.plan);
    Session session(*p.plan, backend, c);
    Listener listener;
    listener.step = [&](const StepReport& r) {
      if (c.rank() == 0)
        losses.push_back(r.loss);
    };
    train(session, {*p.spec, feed, directory, "run", resume}, listener);
  });
  return losses;
}

TEST_CASE("B066: a file saved with padding on one mesh holds true rows and loads on any other") {
  const Directory runs("padded");
  const Sets on_three = {padded_to(3), "mesh={model: 3}", "layout={vocab: model}"};
  trained_in(runs.path, with(tiny, with({"train.steps=2"}, on_three)), false);
  {
    const Checkpoint saved = Checkpoint::open(runs.path);
    REQUIRE(saved.find("parameter:table"));
    CHECK(saved.find("parameter:table")->size == std::vector<int64_t>{257, 32});
    CHECK(saved.find("state:table/m")->size == std::vector<int64_t>{257, 32});
  }
  const std::vector<Sets> others = {
      {unpadded, "mesh={one: 1}", "layout={}"},
      {padded_to(128), "mesh={model: 4}", "layout={vocab: model}"},  // the last rank: padding alone
      {padded_to(2), "mesh={data: 2, model: 2}", "layout={batch: data, vocab: model}"},
  };
  std::vector<std::vector<double>> resumed;
  for (const Sets& other : others) {
    const Directory copy("resumed");
    std::filesystem::copy(runs.path, copy.path, std::filesystem::copy_options::recursive);
    resumed.push_back(trained_in(copy.path, with(tiny, with({"train.steps=4"}, other)), true));
    CHECK(Checkpoint::open(copy.path).find("parameter:table")->size ==
          std::vector<int64_t>{257, 32});
  }
  for (const std::vector<double>& losses : resumed) {
    REQUIRE(losses.size() == 2);
    CHECK(losses[0] == Approx(resumed[0][0]).epsilon(1e-6));
    CHECK(losses[1] == Approx(resumed[0][1]).epsilon(1e-4));
  }
}

// ---- what is said ------------------------------------------------------------------------------

TEST_CASE("an id beyond the true size is refused though storage has it") {
  const Planned p = planned(lm,
                            with(tiny, {"dims.vocab={size: 200, pad: 128}", "mesh={one: 1}",
                                        "layout={}", "data={synthetic: {tokens: {uniform: 201}}}"}),
                            Job::train);
  REQUIRE(p.plan);
  try {
    Feed(*p.spec, *p.plan);
    FAIL("a Feed was made");
  } catch (const Failure& f) {
    CHECK(std::string(f.what()) ==
          "data.synthetic: input 'tokens' has values 0 to 200; 0 to 199 are valid");
  }
}

}  // namespace
}  // namespace mtf
