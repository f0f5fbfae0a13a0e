#include "ops/families.h"

namespace mtf {

std::span<const OpDef> shape_ops() { return {}; }

}  // namespace mtf
