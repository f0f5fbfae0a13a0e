// Graph + mesh + layout rules -> Program. Knows dims' roles and never an op's name.
#pragma once

#include "plan/layout_findings.h"
#include "plan/program.h"

namespace mtf {

// Partitions the nodes that `graph.outputs` need. Rules that conflict, axes that do not divide,
// sums that are not exact and conversions over the limit become findings; after one that is an
// error the program is not to be used.
Program partition(const Graph& graph, const Mesh&, const LayoutRules&, std::string program_name,
                  LayoutFindings&);

}  // namespace mtf
