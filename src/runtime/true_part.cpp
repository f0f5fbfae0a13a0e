#include "runtime/true_part.h"

#include <algorithm>
#include <cstring>

namespace mtf {

Box true_part(const View& view) {
  Box part{view.origin, {}};
  for (size_t i = 0; i < view.size.size(); ++i)
    part.size.push_back(std::clamp<int64_t>(view.whole[i] - view.origin[i], 0, view.size[i]));
  return part;
}

std::span<const std::byte> packed(const View& view, std::span<const std::byte> shard,
                                  std::vector<std::byte>& buffer) {
  const Box part = true_part(view);
  if (part.size == view.size)
    return shard;
  const int64_t width = size_of(view.dtype);
  const std::vector<int64_t> corner(view.size.size(), 0);
  buffer.resize(static_cast<size_t>(elements(part.size) * width));
  for_each_run({view.size, corner}, {part.size, corner}, part.size,
               [&](int64_t from, int64_t to, int64_t count) {
                 std::memcpy(buffer.data() + to * width, shard.data() + from * width,
                             static_cast<size_t>(count * width));
               });
  return buffer;
}

void unpack(const View& view, std::span<const std::byte> dense, std::span<std::byte> shard) {
  const Box part = true_part(view);
  const int64_t width = size_of(view.dtype);
  const std::vector<int64_t> corner(view.size.size(), 0);
  std::memset(shard.data(), 0, shard.size());
  for_each_run({part.size, corner}, {view.size, corner}, part.size,
               [&](int64_t from, int64_t to, int64_t count) {
                 std::memcpy(shard.data() + to * width, dense.data() + from * width,
                             static_cast<size_t>(count * width));
               });
}

}  // namespace mtf
