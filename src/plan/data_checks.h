// What `data:` gives against the inputs of the model, as far as it can be seen without files.
#pragma once

#include <set>
#include <string>

#include "graph/graph.h"
#include "plan/plan.h"
#include "spec/spec.h"

namespace mtf {

// data.mismatch for each input that the data do not give, and each value that no input takes. For a
// graph that is not all of its model, `other_words` are names that the rest may have.
void check_data(const Spec&, const Graph&, const std::set<std::string, std::less<>>& other_words,
                Diagnostics&);

// data.mismatch for synthetic ids that what they look up does not have.
void check_synthetic_ids(const Spec&, const std::vector<IdRange>&, Diagnostics&);

}  // namespace mtf
