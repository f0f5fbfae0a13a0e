// Boxes of dense row-major arrays: what part of a tensor a rank owns, a file holds, a batch needs.
// Everything that cuts or joins tensors goes through for_each_run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/file.h"

namespace mtf {

struct Box {
  std::vector<int64_t> origin, size;  // by dim
  bool operator==(const Box&) const = default;
};

int64_t elements(std::span<const int64_t> sizes);  // product; 1 for a scalar
// The same for sizes that a file claims: nullopt if one is negative or the product overflows.
std::optional<int64_t> checked_bytes(std::span<const int64_t> sizes, int64_t element_bytes);

bool inside(const Box&, std::span<const int64_t> whole);
std::optional<Box> intersection(const Box&, const Box&);  // nullopt if no element is in both

std::string show(std::span<const int64_t> sizes);  // "[2, 3]"

// Where a box begins in an array of the given sizes.
struct Corner {
  std::span<const int64_t> array, origin;
};

// Calls f for each longest run of elements of a box of size `extent` that lies in one piece in both
// arrays, in row-major order, with its offsets there and its length, all in elements.
void for_each_run(Corner a, Corner b, std::span<const int64_t> extent,
                  const std::function<void(int64_t a, int64_t b, int64_t count)>& f);

// Reads a box of size `extent` of an array that begins at byte `base` of a file into an array in
// memory. Runs with small gaps between them are read together.
void read_box(const File&, int64_t base, int64_t element_bytes, Corner in_file, Corner in_memory,
              std::span<const int64_t> extent, std::byte* memory);

}  // namespace mtf
