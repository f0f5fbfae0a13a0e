// One element at a time, by memcpy: data in files has no alignment.
#include "io/convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace mtf {
namespace {

template <class T>
T load(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* data, int64_t index, T value) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits.
double half_to_double(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double value = std::ldexp(fraction, -24);
  if (exponent == 31)
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  else if (exponent > 0)
    value = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

uint16_t to_bf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return static_cast<uint16_t>(bits >> 16);
}

}  // namespace

bool is_float(NpyType t) {
  return t == NpyType::f2 || t == NpyType::f4 || t == NpyType::f8;
}

double float_at(NpyType type, const std::byte* data, int64_t index) {
  switch (type) {
    case NpyType::f2:
      return half_to_double(load<uint16_t>(data, index));
    case NpyType::f4:
      return load<float>(data, index);
    case NpyType::f8:
      return load<double>(data, index);
    default:
      return static_cast<double>(integer_at(type, data, index));
  }
}

int64_t integer_at(NpyType type, const std::byte* data, int64_t index) {
  switch (type) {
    case NpyType::i4:
      return load<int32_t>(data, index);
    case NpyType::i8:
      return load<int64_t>(data, index);
    case NpyType::u1:
      return load<uint8_t>(data, index);
    case NpyType::b1:
      return load<uint8_t>(data, index) != 0;
    default:
      break;
  }
  CHECK(false, "not an integer type");
  return 0;
}

double float_at(DType type, const std::byte* data, int64_t index) {
  switch (type) {
    case DType::f32:
      return load<float>(data, index);
    case DType::f64:
      return load<double>(data, index);
    case DType::bf16:
      return std::bit_cast<float>(uint32_t{load<uint16_t>(data, index)} << 16);
    default:
      return static_cast<double>(integer_at(type, data, index));
  }
}

int64_t integer_at(DType type, const std::byte* data, int64_t index) {
  if (type == DType::i32)
    return load<int32_t>(data, index);
  CHECK(type == DType::u8 || type == DType::boolean, "not an integer type");
  return load<uint8_t>(data, index);
}

void store_float(DType type, std::byte* data, int64_t index, double value) {
  if (type == DType::f64)
    return store(data, index, value);
  if (type == DType::f32)
    return store(data, index, static_cast<float>(value));
  CHECK(type == DType::bf16, "not a float type");
  store(data, index, to_bf16(static_cast<float>(value)));
}

bool store_integer(DType type, std::byte* data, int64_t index, int64_t value) {
  using Int32 = std::numeric_limits<int32_t>;
  const bool wide = type == DType::i32;
  CHECK(wide || type == DType::u8 || type == DType::boolean, "not an integer type");
  const int64_t low = wide ? Int32::min() : 0;
  const int64_t high = wide ? Int32::max() : type == DType::u8 ? 255 : 1;
  if (value < low || value > high)
    return false;
  if (wide)
    store(data, index, static_cast<int32_t>(value));
  else
    store(data, index, static_cast<uint8_t>(value));
  return true;
}

}  // namespace mtf
