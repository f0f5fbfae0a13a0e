// Saving: a temporary directory, shards, the manifest, one rename; then `latest`, then pruning.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "io/digest.h"
#include "io/manifest.h"

namespace mtf {
namespace {

std::string temporary_of(const std::string& directory, int64_t step, const std::string& run_id) {
  return fmt::format("{}/{}.tmp-{}", directory, step_name(step), run_id);
}

// N of "step_N" (and of "step_N.tmp-..." if `temporary`), or -1.
int64_t step_of(std::string_view name, bool temporary = false) {
  constexpr std::string_view prefix = "step_";
  if (!name.starts_with(prefix))
    return -1;
  const char* end = name.data() + name.size();
  int64_t step = -1;
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, step);
  const std::string_view suffix(rest, static_cast<size_t>(end - rest));
  const bool fits = temporary ? suffix.starts_with(".tmp-") : suffix.empty();
  return error == std::errc{} && fits ? step : -1;
}

// What killed saves and prunings left. Only names that this file makes are touched.
void remove_leftovers(const std::string& directory) {
  for (const std::string& name : names_in(directory))
    if (step_of(name, true) >= 0)
      remove_tree(directory + "/" + name);
}

void exchange(const std::string& a, const std::string& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) != 0)
    throw Failure(Exit::environment,
                  fmt::format("{}: stands already and cannot be replaced at once: {}", b,
                              std::strerror(errno)));
}

void prune(const std::string& directory, int64_t newest, int keep, const std::string& run_id) {
  int kept = 0;
  for (int64_t step : saved_steps(directory)) {
    if (step > newest || ++kept <= keep)
      continue;
    const std::string doomed = temporary_of(directory, step, run_id);
    rename_path(directory + "/" + step_name(step), doomed);  // so that no half step is ever seen
    remove_tree(doomed);
  }
}

}  // namespace

void prepare_save(const std::string& directory, int64_t step, const std::string& run_id) {
  make_directories(directory);
  remove_leftovers(directory);
  const std::string temporary = temporary_of(directory, step, run_id);
  make_directories(temporary);
  std::error_code error;
  std::filesystem::permissions(temporary, std::filesystem::perms::owner_all, error);
  if (error)
    throw Failure(Exit::environment, temporary + ": permissions: " + error.message());
}

ShardRecord write_shard(const std::string& directory, int64_t step, const std::string& run_id,
                        int rank, std::span<const TensorBox> boxes) {
  std::vector<TensorToStore> tensors;
  std::map<std::string, std::string> metadata;
  for (const TensorBox& b : boxes) {
    const size_t bytes = static_cast<size_t>(elements(b.size) * size_of(b.dtype));
    tensors.push_back({b.name, b.dtype, b.size, b.data});
    metadata[b.name] = print_box({b.dims, b.whole, b.origin, crc64(std::span(b.data, bytes))});
  }
  const std::string path = temporary_of(directory, step, run_id) + "/" + shard_name(rank);
  const StoredFile stored = write_safetensors(path, tensors, metadata);
  return {rank, stored.bytes, stored.header_digest};
}

void publish(const std::string& directory, const Publication& publication) {
  const std::string temporary = temporary_of(directory, publication.step, publication.run_id);
  std::vector<SafetensorsFile> shards;
  for (const ShardRecord& s : publication.shards)
    shards.push_back(SafetensorsFile::open(temporary + "/" + shard_name(s.rank)));
  Manifest manifest{
      publication.step, publication.run_id, publication.state, {}, publication.shards};
  for (const auto& [name, stored] : index_boxes(shards, Exit::bug))
    manifest.tensors.push_back(stored.tensor);

  File file = File::create(fmt::format("{}/{}", temporary, manifest_name));
  file.write(print_manifest(manifest));
  file.finish();
  sync_directory(temporary);
  const std::string final_path = directory + "/" + step_name(publication.step);
  if (exists(final_path)) {
    exchange(temporary, final_path);
    sync_directory(directory);
    remove_tree(temporary);
  } else {
    rename_path(temporary, final_path);
    sync_directory(directory);
  }
  // From here on the step is saved.
  write_atomically(directory + "/latest", step_name(publication.step) + "\n");
  prune(directory, publication.step, publication.keep, publication.run_id);
}

void discard_save(const std::string& directory, int64_t step, const std::string& run_id) {
  remove_tree(temporary_of(directory, step, run_id));
}

std::vector<int64_t> saved_steps(const std::string& directory) {
  std::vector<int64_t> steps;
  for (const std::string& name : names_in(directory))
    if (const int64_t step = step_of(name); step >= 0)
      steps.push_back(step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

}  // namespace mtf
