#include "ops/families.h"

namespace mtf {

std::span<const OpDef> position_ops() { return {}; }

}  // namespace mtf
