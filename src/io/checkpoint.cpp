// Loading: the newest whole step, its digests verified, any box of any tensor.
#include "io/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "io/digest.h"
#include "io/manifest.h"

namespace mtf {
namespace {

constexpr int64_t largest_manifest = int64_t{256} << 20;
constexpr size_t most_named = 8;  // tensors of each kind of difference

std::string describe(const TensorInfo& t) {
  std::string text = "[";
  for (size_t i = 0; i < t.size.size(); ++i)
    text += fmt::format("{}{}={}", i > 0 ? ", " : "", t.dims[i], t.size[i]);
  return text + "] " + std::string(name_of(t.dtype));
}

// Names of a kind of difference: how many, and the first of them.
std::string counted(std::vector<std::string> names, std::string_view kind) {
  const size_t count = names.size();
  if (count > most_named) {
    names.resize(most_named);
    names.push_back(fmt::format("{} more", count - most_named));
  }
  return fmt::format("{} {}: {}", count, kind, listed(names));
}

uint64_t digest_of(const File& file, int64_t begin, int64_t end) {
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(end - begin, int64_t{1} << 20)));
  uint64_t digest = 0;
  while (begin < end) {
    const auto piece =
        std::span(buffer).first(std::min(buffer.size(), static_cast<size_t>(end - begin)));
    file.read(begin, piece);
    digest = crc64(piece, digest);
    begin += static_cast<int64_t>(piece.size());
  }
  return digest;
}

}  // namespace

Checkpoint Checkpoint::open(const std::string& path, int part, int parts) {
  Checkpoint checkpoint = find_whole(path);
  checkpoint.verify(part, parts);
  return checkpoint;
}

// Every rank reads the same manifests and headers here, and so chooses the same step.
Checkpoint Checkpoint::find_whole(const std::string& path) {
  if (exists(fmt::format("{}/{}", path, manifest_name)))
    return open_step(path);
  std::vector<std::string> reasons;
  for (int64_t step : saved_steps(path)) {
    try {
      Checkpoint checkpoint = open_step(path + "/" + step_name(step));
      checkpoint.passed_over_ = reasons;
      return checkpoint;
    } catch (const Failure& e) {
      if (e.code() != Exit::bad_input)
        throw;
      reasons.emplace_back(e.what());
    }
  }
  if (reasons.empty())
    throw Failure(Exit::bad_input,
                  path + ": expected a checkpoint (directories step_N), found none");
  throw Failure(Exit::bad_input, fmt::format("{}: none of {} checkpoints can be loaded:\n  {}",
                                             path, reasons.size(), fmt::join(reasons, "\n  ")));
}

Checkpoint Checkpoint::open_step(const std::string& path) {
  const std::string manifest_path = fmt::format("{}/{}", path, manifest_name);
  const Manifest manifest = parse_manifest(
      File::open(manifest_path, File::Links::refuse).read_all(largest_manifest), manifest_path);
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  checkpoint.run_id_ = manifest.run_id;
  checkpoint.step_ = manifest.step;
  checkpoint.state_ = manifest.state;
  checkpoint.tensors_ = manifest.tensors;
  for (const ShardRecord& s : manifest.shards) {
    const std::string shard_path = path + "/" + shard_name(s.rank);
    SafetensorsFile shard = SafetensorsFile::open(shard_path, File::Links::refuse);
    if (shard.file().size() != s.bytes)
      throw Failure(Exit::bad_input, fmt::format("{}: expected {} bytes, found {}", shard_path,
                                                 s.bytes, shard.file().size()));
    if (shard.header_digest() != s.header_digest)
      throw Failure(
          Exit::bad_input,
          fmt::format("{}: expected a header of digest {}, found {}: the file is damaged",
                      shard_path, in_hex(s.header_digest), in_hex(shard.header_digest())));
    checkpoint.shards_.push_back(std::move(shard));
  }
  checkpoint.boxes_ = index_boxes(checkpoint.shards_, Exit::bad_input);
  std::vector<TensorInfo> stored;
  for (const auto& [name, boxes] : checkpoint.boxes_)
    stored.push_back(boxes.tensor);
  if (const std::string message = differences(manifest.tensors, stored); !message.empty())
    throw Failure(Exit::bad_input, path + ": the manifest and the shards disagree: " + message);
  return checkpoint;
}

void Checkpoint::verify(int part, int parts) const {
  for (const auto& [name, stored] : boxes_)
    for (const StoredBox& box : stored.boxes) {
      if (static_cast<int>(box.shard) % parts != part)
        continue;
      const File& file = shards_[box.shard].file();
      const uint64_t digest = digest_of(file, box.stored->begin, box.stored->end);
      if (digest != box.digest)
        throw Failure(
            Exit::bad_input,
            fmt::format("{}: bytes {} to {} (tensor '{}'): expected digest {}, found {}: the file "
                        "is damaged",
                        file.path(), box.stored->begin, box.stored->end, name, in_hex(box.digest),
                        in_hex(digest)));
    }
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto it = boxes_.find(name);
  return it == boxes_.end() ? nullptr : &it->second.tensor;
}

void Checkpoint::read(std::string_view name, std::span<const int64_t> origin,
                      std::span<const int64_t> size, std::span<std::byte> out) const {
  const auto it = boxes_.find(name);
  CHECK(it != boxes_.end(), "no tensor " + std::string(name));
  const StoredBoxes& stored = it->second;
  const Box wanted{{origin.begin(), origin.end()}, {size.begin(), size.end()}};
  CHECK(inside(wanted, stored.tensor.size), "box outside tensor " + std::string(name));
  CHECK(static_cast<int64_t>(out.size()) == elements(size) * size_of(stored.tensor.dtype),
        "wrong buffer size");
  // The stored boxes tile the tensor, so the parts that lie in `wanted` tile it.
  for (const StoredBox& box : stored.boxes) {
    const auto common = intersection(box.box, wanted);
    if (!common)
      continue;
    std::vector<int64_t> from, to;
    for (size_t i = 0; i < size.size(); ++i) {
      from.push_back(common->origin[i] - box.box.origin[i]);
      to.push_back(common->origin[i] - origin[i]);
    }
    shards_[box.shard].read(*box.stored, from, {size, to}, common->size, out.data());
  }
}

std::string differences(std::span<const TensorInfo> expected, std::span<const TensorInfo> found) {
  std::map<std::string_view, const TensorInfo*> have, want;
  for (const TensorInfo& t : found)
    have[t.name] = &t;
  std::vector<std::string> missing, extra, different;
  for (const TensorInfo& t : expected) {
    want[t.name] = &t;
    const auto it = have.find(t.name);
    if (it == have.end())
      missing.push_back("'" + t.name + "'");
    else if (it->second->dtype != t.dtype || it->second->size != t.size)
      different.push_back(fmt::format("'{}' is expected as {}, found as {}", t.name, describe(t),
                                      describe(*it->second)));
  }
  for (const TensorInfo& t : found)
    if (!want.contains(t.name))
      extra.push_back("'" + t.name + "'");
  std::vector<std::string> parts;
  if (!missing.empty())
    parts.push_back(counted(missing, "missing"));
  if (!extra.empty())
    parts.push_back(counted(extra, "not expected"));
  if (!different.empty())
    parts.push_back(counted(different, "different"));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace mtf
