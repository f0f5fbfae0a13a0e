// What `data:` gives against the inputs of the model, as far as it can be seen without files.
#pragma once

#include "graph/graph.h"
#include "spec/spec.h"

namespace mtf {

// data.mismatch for each input that the data do not give, and each value that no input takes.
void check_data(const Spec&, const Graph&, Diagnostics&);

}  // namespace mtf
