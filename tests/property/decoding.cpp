#include "decoding.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <mutex>

#include "plan/lower.h"
#include "runtime/thread_communicator.h"
#include "runtime/thread_pool.h"

namespace mtf {
namespace {

// Parameters are a function of name and global index, so that every layout holds the same ones.
float parameter_value(const std::string& name, uint64_t index) {
  uint64_t z = std::hash<std::string>{}(name) + index * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<float>(static_cast<int64_t>(z >> 40) - (1 << 23)) /
         static_cast<float>(1 << 24);
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
      bool padding = false;
      for (size_t d = v.size.size(); d-- > 0;) {
        const int64_t index =
            v.origin[d] + static_cast<int64_t>(rest % static_cast<size_t>(v.size[d]));
        padding = padding || index >= v.whole[d];
        at += static_cast<uint64_t>(index) * stride;
        rest /= static_cast<size_t>(v.size[d]);
        stride *= static_cast<uint64_t>(v.whole[d]);
      }
      const float value = padding ? 0 : parameter_value(p.name, at);
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
  }
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

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

std::vector<int32_t> some_ids(int64_t length) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i)
    ids.push_back(static_cast<int32_t>((i * 37 + 11) % 50));
  return ids;
}

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
        const View v = view_of(e.program(), e.program()[b.value], 0);  // [batch, length, vocab]
        const auto width = static_cast<size_t>(size_of(v.dtype));
        const auto stride = static_cast<size_t>(v.size.back());
        const auto vocabulary = static_cast<size_t>(v.whole.back());
        for (size_t i = 0; i < ids.size() * vocabulary; ++i) {
          const size_t at = i / vocabulary * stride + i % vocabulary;
          uint32_t bits = 0;  // a bf16 is the upper half of an f32
          std::memcpy(reinterpret_cast<std::byte*>(&bits) + sizeof bits - width,
                      e.bytes(b.value).data() + at * width, width);
          out[i / vocabulary].push_back(std::bit_cast<float>(bits));
        }
      }
  });
  return out;
}

std::string decode_difference(const std::string& path, const Sets& sets,
                              std::span<const int32_t> ids, const Logits& expected) {
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

}  // namespace mtf
