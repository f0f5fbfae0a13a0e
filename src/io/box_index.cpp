// From the headers of shards to where every box of every tensor lies, with proof that the boxes of
// each tensor tile it.
#include <fmt/format.h>

#include "io/manifest.h"

namespace mtf {
namespace {

void check_cover(const StoredBoxes& stored, std::span<const SafetensorsFile> shards, Exit code) {
  const TensorInfo& t = stored.tensor;
  int64_t covered = 0;
  for (size_t i = 0; i < stored.boxes.size(); ++i) {
    const StoredBox& box = stored.boxes[i];
    covered += elements(box.box.size);
    for (size_t j = 0; j < i; ++j)
      if (intersection(box.box, stored.boxes[j].box))
        throw Failure(code, fmt::format("{} and {}: boxes of tensor '{}' overlap",
                                        shards[stored.boxes[j].shard].file().path(),
                                        shards[box.shard].file().path(), t.name));
  }
  if (covered != elements(t.size))
    throw Failure(code,
                  fmt::format("{}: boxes of tensor '{}' hold {} elements of all shards; {} has {}",
                              shards[stored.boxes[0].shard].file().path(), t.name, covered,
                              show(t.size), elements(t.size)));
}

void add_box(BoxIndex& index, const SafetensorsFile& file, size_t shard, const StoredTensor& tensor,
             Exit code) {
  const std::string where = file.file().path() + ": tensor '" + tensor.name + "'";
  const auto entry = file.metadata().find(tensor.name);
  if (entry == file.metadata().end())
    throw Failure(code, where + ": __metadata__ does not say where its box lies");
  const BoxRecord record = parse_box(entry->second, where);
  const TensorInfo info{tensor.name, tensor.dtype, record.dims, record.whole};
  const Box box{record.origin, tensor.size};
  if (record.dims.size() != record.whole.size() || !checked_bytes(record.whole, 8) ||
      !inside(box, record.whole))
    throw Failure(code, fmt::format("{}: a box of size {} at {} does not lie in {}", where,
                                    show(box.size), show(box.origin), show(record.whole)));
  StoredBoxes& stored = index.try_emplace(tensor.name, StoredBoxes{info, {}}).first->second;
  if (stored.tensor != info)
    throw Failure(code, where + ": shards disagree about its dtype, dims or size");
  stored.boxes.push_back({shard, &tensor, box, record.digest});
}

}  // namespace

BoxIndex index_boxes(std::span<const SafetensorsFile> shards, Exit code) {
  BoxIndex index;
  for (size_t s = 0; s < shards.size(); ++s)
    for (const StoredTensor& t : shards[s].tensors())
      add_box(index, shards[s], s, t, code);
  for (const auto& [name, stored] : index)
    check_cover(stored, shards, code);
  return index;
}

}  // namespace mtf
