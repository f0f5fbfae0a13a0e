#include "runtime/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "base/error.h"
#include "model/decode.h"
#include "plan/lower.h"
#include "runtime/sampling.h"

namespace mtf {
namespace {

const Value& named(const std::vector<Program::Binding>& list, const Program& p,
                   std::string_view name) {
  for (const Program::Binding& b : list)
    if (b.name == name)
      return p[b.value];
  CHECK(false, std::string(name));
}

int64_t elements(const Program& p, const Value& v) {
  int64_t n = 1;
  for (DimId d : v.type.shape.dims)
    n *= p[d].true_size();
  return n;
}

float as_float(DType type, const std::byte* at) {
  if (type == DType::bf16) {
    uint16_t half;
    std::memcpy(&half, at, sizeof half);
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
  }
  if (type == DType::f64) {
    double d;
    std::memcpy(&d, at, sizeof d);
    return static_cast<float>(d);
  }
  float f;
  std::memcpy(&f, at, sizeof f);
  return f;
}

}  // namespace

Decoder::Decoder(Session& session, const Decoding& decoding)
    : session_(session), decoding_(decoding) {
  const Program& prefill = session["prefill"].program();
  piece_ = elements(prefill, named(prefill.inputs, prefill, decoding.tokens));
  for (const Dim& d : prefill.dims)
    if (d.name == decoding.along)
      length_ = d.true_size();
  const Program& decode = session["decode"].program();
  logits_.resize(
      static_cast<size_t>(elements(decode, named(decode.outputs, decode, decoding.logits))));
  reset();
}

void Decoder::reset() {
  position_ = 0;
  session_.zero("cache:");
}

void Decoder::feed(std::span<const int32_t> ids) {
  while (!ids.empty()) {
    // A piece that would cross the end has no positions for its padding.
    const bool alone = ids.size() == 1 || position_ + piece_ > length_;
    const size_t n = alone ? 1 : std::min(ids.size(), static_cast<size_t>(piece_));
    run(alone ? "decode" : "prefill", ids.first(n));
    ids = ids.subspan(n);
  }
}

// One run of a program on at most as many ids as it has positions; the rest is padding that no
// cache keeps.
void Decoder::run(const char* program, std::span<const int32_t> ids) {
  Executor& e = session_[program];
  const Program& p = e.program();
  session_.set(program, "driver:position", static_cast<double>(position_));
  session_.set(program, "driver:count", static_cast<double>(ids.size()));
  for (const Program::Binding& b : p.inputs) {
    if (b.name != decoding_.tokens)
      continue;
    const View shard = view_of(p, p[b.value], session_.communicator().rank());
    const int64_t first = std::accumulate(shard.origin.begin(), shard.origin.end(), int64_t{0});
    const std::span<std::byte> out = e.bytes(b.value);
    std::memset(out.data(), 0, out.size());
    if (first < static_cast<int64_t>(ids.size())) {  // one example: only positions have an origin
      const auto mine = ids.subspan(static_cast<size_t>(first));
      std::memcpy(out.data(), mine.data(), std::min(out.size(), mine.size_bytes()));
    }
  }
  e.run();
  position_ += static_cast<int64_t>(ids.size());
  for (const Program::Binding& b : p.outputs)
    if (b.name == decoding_.logits)
      read_logits(p, p[b.value], e.bytes(b.value), static_cast<int64_t>(ids.size()) - 1);
}

// The logits at one of the new positions. The value is whole, and its dims may lie in any order.
void Decoder::read_logits(const Program& p, const Value& v, std::span<const std::byte> bytes,
                          int64_t at) {
  int64_t row = 0, column = 0, stride = 1;  // elements from one position, or logit, to the next
  for (size_t i = v.type.shape.dims.size(); i-- > 0;) {
    const Dim& d = p[v.type.shape.dims[i]];
    if (d.name == new_positions(decoding_.along))
      row = stride;
    else if (d.size > 1)
      column = stride;
    stride *= d.size;
  }
  CHECK(v.local_elements() == stride);
  const int64_t width = size_of(v.type.dtype);
  for (size_t i = 0; i < logits_.size(); ++i)
    logits_[i] = as_float(v.type.dtype,
                          bytes.data() + (at * row + static_cast<int64_t>(i) * column) * width);
}

void Decoder::check(std::span<const int32_t> prompt) const {
  if (prompt.empty() || static_cast<int64_t>(prompt.size()) >= length_)
    throw Failure(Exit::bad_input, "the prompt has " + std::to_string(prompt.size()) +
                                       " tokens; it may have 1 to " + std::to_string(length_ - 1) +
                                       ", since '" + decoding_.along + "' is " +
                                       std::to_string(length_));
  for (const IdRange& r : session_.plan().id_ranges)
    for (size_t i = 0; i < prompt.size() && r.input == decoding_.tokens; ++i)
      if (prompt[i] < r.low || prompt[i] >= r.high)
        throw Failure(Exit::bad_input,
                      fmt::format("token {} of the prompt is {}; '{}' takes {} to {}", i + 1,
                                  prompt[i], r.input, r.low, r.high - 1));
}

void Decoder::generate(std::span<const int32_t> prompt, const Sampling& sampling,
                       const std::function<bool(int32_t)>& token) {
  reset();
  feed(prompt);
  for (int64_t n = 0; n < sampling.max_tokens && position_ < length_; ++n) {
    const int32_t next = sample(logits_, sampling.temperature, sampling.top_k,
                                static_cast<uint64_t>(sampling.seed), position_);
    if (!token(next) || n + 1 == sampling.max_tokens)
      return;
    feed({&next, 1});
  }
}

}  // namespace mtf
