// Conversions between two layouts of one value: the cheapest sequence of collectives
// (docs/COST_MODEL.md).
#pragma once

#include "plan/program.h"

namespace mtf {

// Steps that turn a value of this type from one layout into the other, by fewest bytes, then
// messages, then instructions. `to.partial` is empty or equal to `from.partial` (then untouched).
std::vector<Action> conversion(const Program&, const Type&, Reduction, const Layout& from,
                               const Layout& to);

// The layout after one step, and the shard sizes under a layout.
Layout apply(const Action&, const Shape&, Layout);
std::vector<int64_t> local_sizes(const Program&, const Shape&, const Layout&);

}  // namespace mtf
