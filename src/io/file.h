// Files as the operating system offers them, with every result checked: reads are pread (a file
// that shrinks meanwhile is an error, never a signal), writes are reserved, written, synced and
// closed. All errors are Failures that name the path: Exit::bad_input for what a file is (absent,
// too short), Exit::environment for what the machine does (no space, no permission, I/O error).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtf {

class File {
 public:
  enum class Links : uint8_t { follow, refuse };

  // A regular file to read; its size is that of the moment of opening.
  static File open(const std::string& path, Links = Links::follow);
  // A new file to write, readable by its owner's group and others as the umask says.
  static File create(const std::string& path);
  static File append_to(const std::string& path);  // made if absent

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }

  // Exactly out.size() bytes from byte `offset` on.
  void read(int64_t offset, std::span<std::byte> out) const;
  std::string read_all(int64_t limit) const;  // refuses a file of more than `limit` bytes

  void reserve(int64_t bytes);  // fails now rather than later if the disk cannot hold them
  void write(std::span<const std::byte>);
  void write(std::string_view text);
  void finish();  // to the disk, and closed

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;  // when reading; when writing, the bytes written so far
};

// Replaces `path` as a whole: readers see the old bytes or the new ones.
void write_atomically(const std::string& path, std::string_view text);

void make_directories(const std::string& path);
void sync_directory(const std::string& path);
void rename_path(const std::string& from, const std::string& to);
bool exists(const std::string& path);
// What is in a directory, in no order; empty if there is no such directory.
std::vector<std::string> names_in(const std::string& directory);
void remove_tree(const std::string& path);
int64_t free_bytes(const std::string& path);  // on the volume of the nearest directory that exists

// Held by the one process that writes into a directory; released when the process ends, however.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path);  // Failure if another process holds it
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace mtf
