// Decoding with a plan's prefill and decode programs: prompt in pieces, then one token at a time.
#pragma once

#include <functional>

#include "plan/make_plan.h"
#include "runtime/session.h"

namespace mtf {

struct Sampling {
  double temperature = 0;  // 0: the most likely token
  int64_t top_k = 0;       // 0: all
  int64_t seed = 1;
  int64_t max_tokens = 64;
};

// Continues `prompt`, which check() accepts. `token` is called with each new id on
// every rank alike; decoding ends at the length, after max_tokens, or when it returns false.
class Decoder {
 public:
  Decoder(Session&, const Decoding&);

  int64_t length() const { return length_; }
  void check(
      std::span<const int32_t> prompt) const;  // Failure(bad_input) if it cannot be continued
  void generate(std::span<const int32_t> prompt, const Sampling&,
                const std::function<bool(int32_t)>& token);

  // The logits of the last position that was fed, [vocabulary].
  std::span<const float> logits() const { return logits_; }

  // Feeds ids at the next positions; logits() are then those after the last of them.
  void feed(std::span<const int32_t> ids);
  void reset();  // back to position 0

 private:
  void run(const char* program, std::span<const int32_t> ids);
  void read_logits(const Program&, const Value&, std::span<const std::byte>, int64_t at);

  Session& session_;
  Decoding decoding_;
  int64_t length_ = 0, piece_ = 1, position_ = 0;
  std::vector<float> logits_;
};

}  // namespace mtf
