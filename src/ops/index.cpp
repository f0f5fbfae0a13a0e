#include "ops/families.h"

namespace mtf {

std::span<const OpDef> index_ops() { return {}; }

}  // namespace mtf
