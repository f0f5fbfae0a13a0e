// The adds at the bottom of every reduction: two buffers of elements into one.
#pragma once

#include <cstddef>
#include <span>

#include "kernel.h"
#include "ops/op.h"

namespace mtf {

// into[i] = into[i] op other[i], or other[i] op into[i] if `into` is the right operand. The buffers
// have one size and do not overlap. max and min: NaN wins, -0 < +0. bf16 is computed in f32 and
// rounded back; u8 and boolean have no sum.
enum class Side : uint8_t { left, right };
void combine(Reduction, DType, Side side_of_into, std::span<std::byte> into,
             std::span<const std::byte> other);

}  // namespace mtf
