// manifest.json of a checkpoint, and what the header of a shard says of each box. Internal to
// saving and loading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/checkpoint.h"

namespace mtf {

struct Manifest {
  int64_t step = 0;
  std::string run_id;
  CheckpointState state;
  std::vector<TensorInfo> tensors;  // by name
  std::vector<ShardRecord> shards;
};

// The text begins with the digest of all that follows it. Reading refuses any other text.
std::string print_manifest(const Manifest&);
Manifest parse_manifest(std::string_view text, const std::string& where);

struct BoxRecord {  // the box's size is the shape that safetensors knows
  std::vector<std::string> dims;
  std::vector<int64_t> whole, origin;
  uint64_t digest = 0;
};
std::string print_box(const BoxRecord&);
BoxRecord parse_box(std::string_view text, const std::string& where);

// Finds every box in these shards. Failure(`code`) if boxes of one tensor disagree about it,
// overlap, or leave a part of it out.
BoxIndex index_boxes(std::span<const SafetensorsFile> shards, Exit code);

inline constexpr std::string_view manifest_name = "manifest.json";
std::string step_name(int64_t step);   // "step_12"
std::string shard_name(int64_t rank);  // "shard_3.safetensors"

}  // namespace mtf
