// Checkpoints that know no layout: a directory `step_N` holds one safetensors file for each rank
// that wrote one, with the boxes of the global tensors that this rank owns, and a manifest. Any box
// of any tensor can be read back, whatever mesh wrote it.
//
// What guards the bytes: the manifest carries its own digest and that of each shard's header, and a
// shard's header the digest of each box. Saving is whole or absent: everything is written into a
// temporary directory beside, put on the disk, and renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/box.h"
#include "io/safetensors.h"
#include "mesh/mesh.h"

namespace mtf {

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::string> dims;  // names, in order
  std::vector<int64_t> size;      // whole sizes
  bool operator==(const TensorInfo&) const = default;
};

// Where the boxes of a tensor lie in the shards of a checkpoint.
struct StoredBox {
  size_t shard = 0;
  const StoredTensor* stored = nullptr;  // in that shard
  Box box;                               // of the whole tensor
  uint64_t digest = 0;                   // crc64 of its bytes
};
struct StoredBoxes {
  TensorInfo tensor;
  std::vector<StoredBox> boxes;
};
using BoxIndex = std::map<std::string, StoredBoxes, std::less<>>;

// What else a checkpoint remembers: seed, digest of the plan, text of the spec, ...
using CheckpointState = std::map<std::string, std::string>;

// ---- saving, in this order ----
//   rank 0      prepare_save     makes the temporary directory, removes what killed saves left
//   every rank  write_shard      (after a barrier) its own file; the results go to rank 0
//   rank 0      publish          if every rank succeeded; else discard_save
// All failures are Failure(Exit::environment), and the steps saved before are untouched.

struct TensorBox {  // one per tensor and rank; replicated tensors are written by one owner
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::string> dims;
  std::vector<int64_t> whole, origin, size;
  const std::byte* data = nullptr;  // dense, row-major
};

struct ShardRecord {  // plain bytes: ranks may send it as such
  int64_t rank = 0, bytes = 0;
  uint64_t header_digest = 0;
};

void prepare_save(const std::string& directory, int64_t step, const std::string& run_id);
ShardRecord write_shard(const std::string& directory, int64_t step, const std::string& run_id,
                        int rank, std::span<const TensorBox>);

struct Publication {
  int64_t step = 0;
  std::string run_id;
  CheckpointState state;
  std::vector<ShardRecord> shards;
  int keep = 2;  // this step and the keep - 1 newest before it stay
};
// Checks that the boxes cover every tensor exactly, then renames, points `latest` at the step, and
// only then prunes. A step of the same number is replaced.
void publish(const std::string& directory, const Publication&);
void discard_save(const std::string& directory, int64_t step, const std::string& run_id);

// Published steps, newest first; empty if there is no such directory. Nothing in them is checked.
std::vector<int64_t> saved_steps(const std::string& directory);

// ---- loading ----

class Checkpoint {
 public:
  // `path`: a run directory, of which the newest step is taken whose manifest, headers and sizes
  // are right, or one `step_N`. Then verifies the bytes of shards part, part + parts, ..., so that
  // ranks can share the work (0 and 1: all). Failure(Exit::bad_input) if there is no such step or a
  // digest is wrong.
  static Checkpoint open(const std::string& path, int part = 0, int parts = 1);

  const std::string& path() const { return path_; }
  int64_t step() const { return step_; }
  const std::string& run_id() const { return run_id_; }
  const CheckpointState& state() const { return state_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // by name
  const TensorInfo* find(std::string_view name) const;
  // Newer steps that were passed over, each with the reason: for a warning.
  const std::vector<std::string>& passed_over() const { return passed_over_; }

  // The box of the tensor, dense, row-major, in the tensor's dtype.
  void read(std::string_view name, std::span<const int64_t> origin, std::span<const int64_t> size,
            std::span<std::byte> out) const;

 private:
  static Checkpoint find_whole(const std::string& path);
  static Checkpoint open_step(const std::string& path);
  void verify(int part, int parts) const;

  std::string path_, run_id_;
  int64_t step_ = 0;
  CheckpointState state_;
  std::vector<TensorInfo> tensors_;
  std::vector<SafetensorsFile> shards_;
  BoxIndex boxes_;
  std::vector<std::string> passed_over_;
};

// "" if both list the same tensors (names, dtypes, sizes), else one message that says how many are
// missing, extra or different, and names the first of each.
std::string differences(std::span<const TensorInfo> expected, std::span<const TensorInfo> found);

}  // namespace mtf
