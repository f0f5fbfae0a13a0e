// Made-up values by counter.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "io/convert.h"
#include "io/dataset.h"
#include "io/random_bits.h"

namespace mtf {
namespace {

using Rule = decltype(SyntheticRule::rule);

// An input's values are those of `of` at a place `shift` further along its dim of time.
struct Generator {
  Rule rule;
  uint64_t key = 0;  // of (seed, the name of the input that the rule is of)
  int64_t shift = 0;
};

void store(const Rule& rule, uint64_t bits, DType dtype, std::byte* out, int64_t at) {
  if (const auto* uniform = std::get_if<UniformIntegers>(&rule))
    store_integer(dtype, out, at, below(uniform->below, bits));
  else if (const auto* numbers = std::get_if<NormalNumbers>(&rule))
    store_float(dtype, out, at, normal(bits) * numbers->deviation);
  else if (const double value = std::get<ConstantNumber>(rule).value; is_float(dtype))
    store_float(dtype, out, at, value);
  else
    store_integer(dtype, out, at, static_cast<int64_t>(value));
}

void check_fits(const BatchInput& input, const Rule& rule) {
  const auto* uniform = std::get_if<UniformIntegers>(&rule);
  const auto* constant = std::get_if<ConstantNumber>(&rule);
  bool fits =
      is_float(input.dtype) ? uniform == nullptr : !std::holds_alternative<NormalNumbers>(rule);
  std::byte any[8];
  if (fits && uniform != nullptr)
    fits = uniform->below >= 1 && store_integer(input.dtype, any, 0, uniform->below - 1);
  if (fits && constant != nullptr && !is_float(input.dtype))
    fits = std::abs(constant->value) < 0x1p53 && std::trunc(constant->value) == constant->value &&
           store_integer(input.dtype, any, 0, static_cast<int64_t>(constant->value));
  if (!fits)
    throw Failure(Exit::spec,
                  fmt::format("data.synthetic: input '{}' of {} cannot hold such values",
                              input.name, name_of(input.dtype)));
}

// The element index counts over the declared dims, the batch dim first and the dim of time one
// longer, so that shifted inputs find every value of the unshifted ones.
void read_example(const Generator& generator, const BatchInput& input, const Example& example,
                  const Box& box, std::span<std::byte> out) {
  std::vector<int64_t> extended, origin = box.origin;
  for (size_t i = 0; i < input.size.size(); ++i) {
    if (static_cast<int>(i) == input.batch)
      continue;
    const bool time = static_cast<int>(i) == input.along;
    if (time)
      origin[extended.size()] += generator.shift;
    extended.push_back(input.size[i] + (time ? 1 : 0));
  }
  const std::vector<int64_t> zero(origin.size(), 0);
  // Without a batch dim there is one array, the same at every step.
  const uint64_t step = input.batch < 0 ? 0 : static_cast<uint64_t>(example.step) + 1;
  const int64_t base = example.index * elements(extended);
  for_each_run({extended, origin}, {box.size, zero}, box.size,
               [&](int64_t from, int64_t to, int64_t count) {
                 for (int64_t i = 0; i < count; ++i) {
                   const auto element = static_cast<uint64_t>(base + from + i);
                   store(generator.rule, random_bits({generator.key, step, element}), input.dtype,
                         out.data(), to + i);
                 }
               });
}

}  // namespace

Dataset synthetic_dataset(std::vector<BatchInput> inputs, std::vector<SyntheticRule> rules,
                          uint64_t seed) {
  auto generators = std::make_shared<std::map<std::string, Generator, std::less<>>>();
  for (const SyntheticRule& r : rules)
    (*generators)[r.input] = {r.rule, random_bits({seed, key_of(r.input)}), 0};
  const auto tokens = generators->find("tokens");
  for (const BatchInput& input : inputs) {
    if (input.name == "targets" && !generators->contains("targets") &&
        tokens != generators->end() && input.along >= 0)
      (*generators)["targets"] = {tokens->second.rule, tokens->second.key, 1};
    const auto it = generators->find(input.name);
    if (it == generators->end())
      throw Failure(Exit::spec, "data.synthetic has no values for the input '" + input.name + "'");
    check_fits(input, it->second.rule);
  }
  ExampleSource source;
  source.read = [generators](const auto& input, const auto& example, const Box& box, auto out) {
    read_example(generators->at(input.name), input, example, box, out);
  };
  source.check_range = [generators](const BatchInput& input, int64_t low, int64_t high) {
    const Rule& rule = generators->at(input.name).rule;
    const auto* uniform = std::get_if<UniformIntegers>(&rule);
    const auto* constant = std::get_if<ConstantNumber>(&rule);
    const double smallest = constant != nullptr ? constant->value : 0;
    const double largest =
        constant != nullptr ? constant->value : static_cast<double>(uniform->below - 1);
    if (smallest < static_cast<double>(low) || largest >= static_cast<double>(high))
      throw Failure(
          Exit::spec,
          fmt::format("data.synthetic: input '{}' has values {} to {}; {} to {} are valid",
                      input.name, smallest, largest, low, high - 1));
  };
  return Dataset(std::move(inputs), std::move(source));
}

}  // namespace mtf
