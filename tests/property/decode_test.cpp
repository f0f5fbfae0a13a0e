// Decoding gives the logits of the whole forward, bit for bit: prefill in pieces of any size, then one
// position at a time, on one rank and on two. Models that look ahead are refused.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <mutex>

#include "plan/lower.h"
#include "runtime/decoder.h"
#include "runtime/thread_communicator.h"
#include "runtime/thread_pool.h"

namespace mtf {
namespace {

using Sets = std::vector<std::string>;
using Logits = std::vector<std::vector<float>>;  // by position

struct Planned {
  std::optional<Spec> spec;
  std::optional<Plan> plan;
  std::string messages;
};

Planned planned(const std::string& path, const Sets& sets, Job job) {
  Planned out;
  Sources sources;
  Diagnostics diagnostics;
  std::vector<Override> overrides;
  for (const std::string& text : sets)
    overrides.push_back({text, 1});
  out.spec = read_spec(sources, path, overrides, diagnostics);
  out.plan = make_plan(*out.spec, sources, job, diagnostics);
  for (const Diagnostic& d : diagnostics.all())
    if (d.severity == Severity::error)
      out.messages += d.message + "\n";
  return out;
}

// Parameters are a function of name and global index, so that every layout holds the same ones.
float parameter_value(const std::string& name, uint64_t index) {
  uint64_t z = std::hash<std::string>{}(name) + index * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<float>(static_cast<int64_t>(z >> 40) - (1 << 23)) / static_cast<float>(1 << 24);
}

void set_parameters(Session& session, const Program& program, int rank) {
  for (const Persistent& p : session.plan().resident.list) {
    if (p.value.storage != Storage::parameter)
      continue;
    const View v = view_of(program, p.value, rank);
    const std::span<std::byte> bytes = session.device().resident(p);
    for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
      size_t rest = i;
      uint64_t at = 0, stride = 1;
      for (size_t d = v.size.size(); d-- > 0;) {
        at += (static_cast<uint64_t>(v.origin[d]) + rest % static_cast<size_t>(v.size[d])) * stride;
        rest /= static_cast<size_t>(v.size[d]);
        stride *= static_cast<uint64_t>(v.whole[d]);
      }
      const float value = parameter_value(p.name, at);
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
  }
}

std::vector<int32_t> some_ids(int64_t length) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i)
    ids.push_back(static_cast<int32_t>((i * 37 + 11) % 50));
  return ids;
}

// Of the eval program on one rank.
Logits forward_logits(const std::string& path, const Sets& sets, std::span<const int32_t> ids) {
  Sets all = sets;
  all.insert(all.end(), {"dims.batch=1", "mesh={one: 1}", "layout={}"});
  const Planned eval = planned(path, all, Job::eval);
  INFO(eval.messages);
  REQUIRE(eval.plan);
  Logits out(ids.size());
  run_ranks(1, [&](Communicator& c) {
    ThreadPool pool(1);
    CpuBackend backend(pool.team(), best_isa());
    Session session(*eval.plan, backend, c);
    Executor& e = session["eval"];
    set_parameters(session, e.program(), 0);
    for (const Program::Binding& b : e.program().inputs)
      if (b.name == "tokens")
        std::memcpy(e.bytes(b.value).data(), ids.data(), ids.size_bytes());
    e.run();
    for (const Program::Binding& b : e.program().outputs)
      if (b.name == "logits") {
        const size_t vocabulary = e.bytes(b.value).size() / sizeof(float) / ids.size();
        for (size_t i = 0; i < ids.size(); ++i) {
          out[i].resize(vocabulary);
          std::memcpy(out[i].data(), e.bytes(b.value).data() + i * vocabulary * sizeof(float), vocabulary * sizeof(float));
        }
      }
  });
  return out;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// Prefills n positions for every n, then decodes the rest one by one; "" or the first difference.
std::string decode_difference(const std::string& path, const Sets& sets, std::span<const int32_t> ids,
                              const Logits& expected) {
  const Planned infer = planned(path, sets, Job::infer);
  INFO(infer.messages);
  REQUIRE(infer.plan);
  const std::optional<Decoding> decoding = decoding_of(*infer.spec);
  REQUIRE(decoding);
  std::mutex mutex;
  std::string found;
  run_ranks(infer.plan->mesh.ranks(), [&](Communicator& c) {
    ThreadPool pool(1);
    CpuBackend backend(pool.team(), best_isa());
    Session session(*infer.plan, backend, c);
    set_parameters(session, session["decode"].program(), c.rank());
    Decoder decoder(session, *decoding);
    for (size_t prompt = 1; prompt <= ids.size(); prompt += prompt < 9 ? 1 : 5) {
      decoder.reset();
      decoder.feed(ids.first(prompt));
      for (size_t at = prompt - 1;; ++at) {
        if (!same_bits(decoder.logits(), expected[at])) {
          const std::lock_guard lock(mutex);
          found = fmt::format("rank {}, prompt of {}, position {}", c.rank(), prompt, at);
          return;
        }
        if (at + 1 == ids.size())
          break;
        decoder.feed(ids.subspan(at + 1, 1));
      }
    }
  });
  return found;
}

const Sets small = {"dims.length=24", "dims.d_model=48", "dims.d_head=16", "dims.d_ff=96", "dims.vocab=50",
                    "dims.layers=2", "data={synthetic: {tokens: {uniform: vocab}}}", "train=null"};

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
  check("mesh={model: 2}", fmt::format("layout={{heads: model, d_ff: model, vocab: model{}}}", more_rules), 8);
}

TEST_CASE("decoding equals the forward for every kind of language model") {
  for (const char* norm : {"rms", "layer"})
    for (const char* positions : {"learned", "sinusoid", "rope"})
      for (const char* attention : {"multi_head", "grouped_query"})
        for (bool tied : {true, false}) {
          Sets sets = small;
          sets.insert(sets.end(), {"dims.kv_heads=2",
                                   fmt::format("model.with={{norm: {}, positions: {}, attention: {}, tied: {}, "
                                               "feed_forward: {}}}",
                                               norm, positions, attention, tied, tied ? "gelu" : "swiglu")});
          INFO(sets.back());
          check_decoding("specs/lm_bytes.yaml", sets, attention == std::string("multi_head") ? "" : ", kv_heads: model");
        }
}

TEST_CASE("decoding equals the forward for a model of one's own blocks") {
  check_decoding("specs/lm_blocks.yaml", small, "");
}

// ---- refusals ----------------------------------------------------------------------------------

std::string refusal(const std::string& steps) {
  const std::string path = fmt::format("/tmp/mtf-decode-{}.yaml", getpid());
  std::ofstream(path) << "mtf: 1\nname: refused\ndims: {batch: 2, length: 8, memory: length, d: 16, heads: 2, key: 8, vocab: 20}\n"
                         "model:\n  inputs: {tokens: {dims: [batch, length], dtype: i32}}\n"
                         "  params: {table: [vocab, d], wq: [d, heads, key], wo: [heads, key, d]}\n  steps:\n"
                         "    - x: {embedding: [table, tokens], over: vocab}\n"
                      << steps
                      << "    - logits: {einsum: [y, table], to: [batch, length, vocab]}\n  outputs: {logits: logits}\n"
                         "data: {synthetic: {tokens: {uniform: vocab}}}\n";
  const Planned p = planned(path, {}, Job::infer);
  unlink(path.c_str());
  CHECK(!p.plan);
  return p.messages;
}

const std::string attend =
    "    - q: {einsum: [x, wq]}\n    - k_here: {einsum: [x, wq]}\n    - k: {rename: k_here, dims: {length: memory}}\n"
    "    - mixed: {attention: [q, k, k], rows: length, over: memory, key: key, causal: CAUSAL}\n"
    "    - y: {einsum: [mixed, wo]}\n";

std::string with_causal(const char* value) {
  std::string text = attend;
  return text.replace(text.find("CAUSAL"), 6, value);
}

TEST_CASE("a model that looks at other positions in any other way is refused by the name of the op") {
  const std::string tail = " over positions, so this model cannot be decoded one position at a time\n";
  CHECK(refusal("    - m: {reduce_mean: x, over: length}\n    - y: {add: [x, m]}\n") == "m does not keep 'length'" + tail);
  CHECK(refusal("    - y: {shift: x, over: length, offset: 1}\n") == "y does not keep 'length'" + tail);
  CHECK(refusal("    - y: {softmax: x, over: length}\n") == "y does not keep 'length'" + tail);
  CHECK(refusal("    - y: {cumsum: x, over: length}\n") == "y does not keep 'length'" + tail);
  CHECK(refusal(with_causal("false")) == "mixed mixes 'length'" + tail);
}

TEST_CASE("a causal model is not refused") {
  const std::string path = fmt::format("/tmp/mtf-decode-{}.yaml", getpid());
  std::ofstream(path) << "mtf: 1\nname: causal\ndims: {batch: 2, length: 8, memory: length, d: 16, heads: 2, key: 8, vocab: 20}\n"
                         "model:\n  inputs: {tokens: {dims: [batch, length], dtype: i32}}\n"
                         "  params: {table: [vocab, d], wq: [d, heads, key], wo: [heads, key, d]}\n  steps:\n"
                         "    - x: {embedding: [table, tokens], over: vocab}\n"
                      << with_causal("true")
                      << "    - logits: {einsum: [y, table], to: [batch, length, vocab]}\n  outputs: {logits: logits}\n"
                         "data: {synthetic: {tokens: {uniform: vocab}}}\n";
  const Planned p = planned(path, {}, Job::infer);
  unlink(path.c_str());
  CHECK(p.messages == "");
  REQUIRE(p.plan);
  CHECK(p.plan->resident.bytes_of(Storage::cache) == 8 * 2 * 8 * 4);  // k is v: one cache [length, heads, key]
}

}  // namespace
}  // namespace mtf
