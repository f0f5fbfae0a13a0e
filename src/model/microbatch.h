// The model of one microbatch: the whole model with a part of the batch. Sizes that are written as
// expressions of the batch follow it.
#pragma once

#include <optional>

#include "model/model.h"

namespace mtf {

// For training. Reports the mistakes of the whole model; where it has none, what only a whole batch
// allows: sizes that do not follow, and parameters, repeats, inputs and indices that do. nullopt
// after an error.
std::optional<Model> build_microbatch(const Spec& spec, Sources& sources, const Numerics& numerics,
                                      Diagnostics& diagnostics);

}  // namespace mtf
