#include "spec/later.h"

#include <fmt/format.h>

#include <algorithm>

namespace mtf {
namespace {

constexpr std::string_view names[] = {
    "conv",
    "conv_transpose",
    "pool",
    "batch_norm",
    "group_norm",
    "relative_bias",
    "split",
    "stack",
    "print",
    "route",
    "dispatch",
    "combine",  // ops
    "conv_classifier",
    "transformer_seq2seq",
    "unet3d",
    "moe",  // library files
};

}  // namespace

bool comes_later(std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Diagnostic not_yet(std::string_view name, SourceSpan where) {
  return {Code::spec_later,
          fmt::format("'{}' belongs to the language, but this version of mtf does not have it yet",
                      name),
          where,
          {},
          fmt::format("leave '{}' out for now", name)};
}

}  // namespace mtf
