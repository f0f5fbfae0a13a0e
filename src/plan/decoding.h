// How a language model is decoded: what `infer:` and `data:` say about it, the spec and the rules
// as decoding reads them, and whether the model is one that can be continued token by token.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "graph/graph.h"
#include "spec/spec.h"

namespace mtf {

// The dim of positions, the input of ids, the output to sample from, the dim of examples.
struct Decoding {
  std::string along, tokens, logits;
  std::string batch;
};

// nullopt for a model without tokens.
std::optional<Decoding> decoding_of(const Spec&);

// The spec as inference reads it: infer's dims, mesh and layout, one example at a time and no
// blocks of the batch.
Spec for_inference(const Spec&, const Decoding&);

// Reports the dims of inference that give a parameter another shape, or a repeat another number of
// copies, than training gives it.
void check_parameter_shapes(const Spec&, const Spec& inference, const Graph& forward, Diagnostics&);

// Makes rules for the batch, for positions and for past dims soft: new positions are few.
void soften_rules(LayoutRules&, const Graph& forward, const Decoding&);

// Errors: names that the model lacks; tokens other than [along] of i32 and logits other than
// [along, one dim] of floats, in any order, apart from a batch of 1. True if there is none.
bool check_decoding(const Spec&, const Graph& forward, const Decoding&, Diagnostics&);

}  // namespace mtf
