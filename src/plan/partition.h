// Graph + mesh + layout rules -> Program. Knows dims' roles and never an op's name.
#pragma once

#include "base/diagnostics.h"
#include "mesh/layout.h"
#include "ops/builder.h"
#include "plan/program.h"

namespace mtf {

// Partitions the nodes that `graph.outputs` need. Rules that conflict, axes that do not divide,
// sums that are not exact and conversions over the limit become diagnostics; after an error the
// program is not to be used.
Program partition(const Graph& graph, const Mesh&, const LayoutRules&, const Numerics&,
                  std::string program_name, Diagnostics&);

}  // namespace mtf
