// The part of a shard that is no padding: all that files and data hold of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "io/box.h"
#include "kernel.h"

namespace mtf {

Box true_part(const View&);  // of the whole tensor; some size is 0 where the shard is all padding

// The true part, dense: the shard itself where it has no padding, else a copy in `buffer`.
std::span<const std::byte> packed(const View&, std::span<const std::byte> shard,
                                  std::vector<std::byte>& buffer);

// The shard that holds this true part, and 0 in the padding.
void unpack(const View&, std::span<const std::byte> dense, std::span<std::byte> shard);

// Fills a shard: `read` is given the true part and where to put it, dense; padding becomes 0.
template <class Read>
void fill_shard(const View& view, std::span<std::byte> shard, const Read& read) {
  const Box part = true_part(view);
  if (part.size == view.size)
    return read(part, shard);
  std::vector<std::byte> dense(static_cast<size_t>(elements(part.size) * size_of(view.dtype)));
  if (!dense.empty())
    read(part, std::span(dense));
  unpack(view, dense, shard);
}

}  // namespace mtf
