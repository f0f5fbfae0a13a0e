// The keys inside of `model:`. Their values are read by the model builder, not through fields.h, so
// they are listed as data.
#pragma once

#include <deque>

#include "spec/language.h"

namespace mtf {

// Appends the tables `model`, `model.inputs.INPUT`, `model.params.PARAM`, `init` and
// `model.blocks.BLOCK`; returns the first. The table `dims.DIM` must be there.
const KeyTable& add_model_tables(std::deque<KeyTable>& tables);

}  // namespace mtf
