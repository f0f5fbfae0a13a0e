// Cutting and joining dense row-major arrays, run by run.
#include "io/box.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace mtf {

int64_t elements(std::span<const int64_t> sizes) {
  int64_t n = 1;
  for (int64_t s : sizes)
    n *= s;
  return n;
}

std::optional<int64_t> checked_bytes(std::span<const int64_t> sizes, int64_t element_bytes) {
  int64_t n = element_bytes;
  for (int64_t s : sizes)
    if (s < 0 || __builtin_mul_overflow(n, s, &n))
      return std::nullopt;
  return n;
}

bool inside(const Box& box, std::span<const int64_t> whole) {
  if (box.origin.size() != whole.size() || box.size.size() != whole.size())
    return false;
  for (size_t i = 0; i < whole.size(); ++i)
    if (box.origin[i] < 0 || box.size[i] < 0 || box.size[i] > whole[i] ||
        box.origin[i] > whole[i] - box.size[i])
      return false;
  return true;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box both;
  for (size_t i = 0; i < a.size.size(); ++i) {
    const int64_t begin = std::max(a.origin[i], b.origin[i]);
    const int64_t end = std::min(a.origin[i] + a.size[i], b.origin[i] + b.size[i]);
    if (begin >= end)
      return std::nullopt;
    both.origin.push_back(begin);
    both.size.push_back(end - begin);
  }
  return both;
}

std::string show(std::span<const int64_t> sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

void for_each_run(Corner a, Corner b, std::span<const int64_t> extent,
                  const std::function<void(int64_t, int64_t, int64_t)>& f) {
  const size_t rank = extent.size();
  std::vector<int64_t> a_stride(rank), b_stride(rank), at(rank, 0);
  int64_t a_offset = 0, b_offset = 0, a_step = 1, b_step = 1;
  for (size_t i = rank; i-- > 0;) {
    if (extent[i] == 0)
      return;
    a_stride[i] = a_step;
    b_stride[i] = b_step;
    a_offset += a.origin[i] * a_step;
    b_offset += b.origin[i] * b_step;
    a_step *= a.array[i];
    b_step *= b.array[i];
  }
  // The run: the innermost dims that are whole in both arrays, and one dim more.
  size_t outer = rank;
  int64_t run = 1;
  while (outer > 0) {
    --outer;
    run *= extent[outer];
    if (extent[outer] != a.array[outer] || extent[outer] != b.array[outer])
      break;
  }
  while (true) {
    f(a_offset, b_offset, run);
    size_t i = outer;
    while (i > 0 && at[i - 1] + 1 == extent[i - 1]) {
      --i;
      a_offset -= at[i] * a_stride[i];
      b_offset -= at[i] * b_stride[i];
      at[i] = 0;
    }
    if (i == 0)
      return;
    ++at[i - 1];
    a_offset += a_stride[i - 1];
    b_offset += b_stride[i - 1];
  }
}

void read_box(const File& file, int64_t base, int64_t element_bytes, Corner in_file,
              Corner in_memory, std::span<const int64_t> extent, std::byte* memory) {
  constexpr int64_t largest_gap = 4096, largest_group = 1 << 18;
  struct Run {
    int64_t from, to, bytes;
  };
  std::vector<Run> group;
  std::vector<std::byte> buffer;
  const auto read_group = [&] {
    if (group.empty())
      return;
    const int64_t begin = group.front().from;
    const int64_t bytes = group.back().from + group.back().bytes - begin;
    if (group.size() == 1) {
      file.read(base + begin, {memory + group[0].to, static_cast<size_t>(bytes)});
    } else {
      buffer.resize(static_cast<size_t>(bytes));
      file.read(base + begin, buffer);
      for (const Run& r : group)
        std::memcpy(memory + r.to, buffer.data() + (r.from - begin), static_cast<size_t>(r.bytes));
    }
    group.clear();
  };
  for_each_run(in_file, in_memory, extent, [&](int64_t from, int64_t to, int64_t count) {
    const Run run{from * element_bytes, to * element_bytes, count * element_bytes};
    if (!group.empty()) {
      const int64_t end = group.back().from + group.back().bytes;
      if (run.from - end > largest_gap || run.from + run.bytes - group[0].from > largest_group)
        read_group();
    }
    group.push_back(run);
  });
  read_group();
}

}  // namespace mtf
