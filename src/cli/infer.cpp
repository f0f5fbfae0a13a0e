// mtf infer: continues a prompt, streaming tokens.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "runtime/agreement.h"
#include "runtime/decoder.h"
#include "text/tokenizer.h"

namespace mtf {
namespace {

std::string prompt_of(const Options& o) {
  if (o.prompt)
    return *o.prompt;
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

int decode(Rank& rank, const Options& o, const Spec& spec, const Plan& plan,
           const Decoding& decoding) {
  const Tokenizer tokenizer = make_tokenizer(spec.data ? spec.data->tokenizer : "bytes");
  std::string prompt =
      rank.first() ? prompt_of(o) : "";  // the launcher gives its input to the first rank
  spread(*rank.communicator, prompt);
  const std::vector<int32_t> ids = tokenizer.encode(prompt);
  std::optional<Session> session;
  std::optional<Decoder> decoder;
  together(*rank.communicator, [&] {
    session.emplace(plan, *rank.backend, *rank.communicator);
    decoder.emplace(*session, decoding);
    decoder->check(ids);
    load_weights(rank, *session, o, spec);
  });
  const Sampling sampling{spec.infer.temperature, spec.infer.top_k, spec.infer.seed,
                          o.max_tokens.value_or(spec.infer.max_tokens)};
  if (rank.first())
    std::fwrite(prompt.data(), 1, prompt.size(), stdout);
  decoder->generate(ids, sampling, [&](int32_t id) {
    if (rank.first()) {
      const std::string text = tokenizer.decode(std::span(&id, 1));
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    }
    return true;
  });
  if (rank.first())
    std::fputc('\n', stdout);
  return 0;
}

}  // namespace

int infer_command(const Options& o) {
  return run_job(o, Job::infer, [&](Rank& rank, const Spec& spec, const Plan& plan) {
    return decode(rank, o, spec, plan, *decoding_of(spec));
  });
}

}  // namespace mtf
