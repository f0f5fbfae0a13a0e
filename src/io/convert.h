// Elements of arrays in files (f2, i8, ...) and of tensors (f32, bf16, ...), read and stored by way
// of double or int64_t.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/npy.h"

namespace mtf {

bool is_float(NpyType);

// Element `index` of an array of the type; every value is exact.
double float_at(NpyType, const std::byte* data, int64_t index);
int64_t integer_at(NpyType, const std::byte* data, int64_t index);
double float_at(DType, const std::byte* data, int64_t index);
int64_t integer_at(DType, const std::byte* data, int64_t index);

// Stores into element `index`. Floats are rounded to nearest even (bf16 by way of f32).
void store_float(DType, std::byte* data, int64_t index, double value);
// False, and nothing stored, if the dtype does not hold the value.
bool store_integer(DType, std::byte* data, int64_t index, int64_t value);

}  // namespace mtf
