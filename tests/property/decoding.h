// Decoding compared with the whole forward: the same model, the same parameters on every mesh.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/make_plan.h"
#include "runtime/decoder.h"

namespace mtf {

using Sets = std::vector<std::string>;           // overrides
using Logits = std::vector<std::vector<float>>;  // by position

struct Planned {
  std::optional<Spec> spec;
  std::optional<Plan> plan;
  std::string messages;  // of errors
};
Planned planned(const std::string& path, const Sets&, Job);

std::vector<int32_t> some_ids(int64_t length);  // below 50

// Of the eval program on one rank.
Logits forward_logits(const std::string& path, const Sets&, std::span<const int32_t> ids);

// Prefills n positions for every n, then decodes the rest one by one; "" or the first difference.
std::string decode_difference(const std::string& path, const Sets&, std::span<const int32_t> ids,
                              const Logits& expected);

// Sizes of a small lm_bytes.yaml.
inline const Sets small = {"dims.length=24",
                           "dims.d_model=48",
                           "dims.d_head=16",
                           "dims.d_ff=96",
                           "dims.vocab=50",
                           "dims.layers=2",
                           "data={synthetic: {tokens: {uniform: vocab}}}",
                           "train=null"};

}  // namespace mtf
