// Spec -> Plan. `validate` stops here, `plan` prints the result, `train`, `eval` and `infer` run it.
#pragma once

#include <optional>

#include "plan/plan.h"
#include "spec/spec.h"

namespace mtf {

enum class Job : uint8_t { train, eval, infer };

// What a spec asks for: training if it has `train:`, else inference.
Job natural_job(const Spec&);

// How a language model is decoded: the dim of positions, the input of ids, the output to sample from.
struct Decoding {
  std::string along, tokens, logits;
  std::string batch;
};

// What `infer:` and `data:` say; nullopt for a model that gives plain outputs.
std::optional<Decoding> decoding_of(const Spec&);

// The plan of a job, or nullopt after diagnostics with errors. For Job::infer the mesh, layout and
// dims of `infer:` hold.
std::optional<Plan> make_plan(const Spec&, Sources&, Job, Diagnostics&);

}  // namespace mtf
