// POSIX calls with every result checked and interrupted ones repeated.
#include "io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace mtf {
namespace {

template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR)
    result = call();
  return result;
}

[[noreturn]] void fail(const std::string& path, std::string_view what, int error,
                       Exit code = Exit::environment) {
  throw Failure(code, fmt::format("{}: {}: {}", path, what, std::strerror(error)));
}

int open_or_fail(const std::string& path, int flags, std::string_view what) {
  const int descriptor =
      uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
  if (descriptor >= 0)
    return descriptor;
  const int error = errno;
  const bool absent = error == ENOENT || error == ENOTDIR || error == ELOOP;
  const bool reading = (flags & O_ACCMODE) == O_RDONLY;
  fail(path, what, error, absent && reading ? Exit::bad_input : Exit::environment);
}

}  // namespace

File File::open(const std::string& path, Links links) {
  // O_NONBLOCK: opening a named pipe by mistake must not wait for a writer.
  const int flags = O_RDONLY | O_NONBLOCK | (links == Links::refuse ? O_NOFOLLOW : 0);
  File file(path, open_or_fail(path, flags, "cannot be opened"));
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0)
    fail(path, "cannot be examined", errno);
  if (!S_ISREG(status.st_mode))
    throw Failure(Exit::bad_input, path + ": not a regular file");
  file.size_ = status.st_size;
  return file;
}

File File::create(const std::string& path) {
  return File(path,
              open_or_fail(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, "cannot be made"));
}

File File::append_to(const std::string& path) {
  return File(path, open_or_fail(path, O_WRONLY | O_CREAT | O_APPEND, "cannot be appended to"));
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void File::read(int64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = uninterrupted([&] {
      return ::pread(descriptor_, out.data() + done, out.size() - done,
                     offset + static_cast<int64_t>(done));
    });
    if (n < 0)
      fail(path_, fmt::format("reading at byte {} failed", offset), errno);
    if (n == 0)
      throw Failure(Exit::bad_input,
                    fmt::format("{}: expected {} bytes at byte {}, found {}: the file is too short",
                                path_, out.size(), offset, done));
    done += static_cast<size_t>(n);
  }
}

std::string File::read_all(int64_t limit) const {
  if (size_ > limit)
    throw Failure(Exit::bad_input,
                  fmt::format("{}: has {} bytes; at most {} are expected", path_, size_, limit));
  std::string text(static_cast<size_t>(size_), '\0');
  read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void File::reserve(int64_t bytes) {
  if (bytes == 0)
    return;
  int error = ::posix_fallocate(descriptor_, 0, bytes);
  while (error == EINTR)
    error = ::posix_fallocate(descriptor_, 0, bytes);
  if (error != 0 && error != EOPNOTSUPP && error != EINVAL)  // some file systems cannot reserve
    fail(path_, fmt::format("reserving {} bytes failed", bytes), error);
}

void File::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n =
        uninterrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (n <= 0)
      fail(path_, fmt::format("writing {} bytes at byte {} failed", bytes.size(), size_),
           n < 0 ? errno : ENOSPC);
    size_ += n;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void File::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void File::finish() {
  if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0)
    fail(path_, "writing to the disk failed", errno);
  // After EINTR the descriptor is gone all the same, and the bytes are on the disk already.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR)
    fail(path_, "closing failed", errno);
}

void write_atomically(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp";
  try {
    File file = File::create(temporary);
    file.write(text);
    file.finish();
    rename_path(temporary, path);
  } catch (const Failure&) {
    ::unlink(temporary.c_str());
    throw;
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  sync_directory(parent.empty() ? "." : parent);
}

void make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    throw Failure(Exit::environment, path + ": cannot be made: " + error.message());
}

void sync_directory(const std::string& path) {
  const int descriptor = open_or_fail(path, O_RDONLY | O_DIRECTORY, "cannot be opened");
  const int result = uninterrupted([&] { return ::fsync(descriptor); });
  const int error = errno;
  ::close(descriptor);
  if (result != 0 && error != EINVAL)  // EINVAL: this file system has no such thing
    fail(path, "writing the directory to the disk failed", error);
}

void rename_path(const std::string& from, const std::string& to) {
  if (uninterrupted([&] { return ::rename(from.c_str(), to.c_str()); }) != 0)
    throw Failure(Exit::environment,
                  fmt::format("{}: cannot be renamed to {}: {}", from, to, std::strerror(errno)));
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory)
    throw Failure(Exit::environment, directory + ": cannot be listed: " + error.message());
  return names;
}

void remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error)
    throw Failure(Exit::environment, path + ": cannot be removed: " + error.message());
}

int64_t free_bytes(const std::string& path) {
  std::filesystem::path existing = std::filesystem::absolute(path);
  while (!exists(existing.string()) && existing.has_relative_path())
    existing = existing.parent_path();
  struct statvfs status {};
  if (uninterrupted([&] { return ::statvfs(existing.c_str(), &status); }) != 0)
    fail(existing.string(), "the free space cannot be asked for", errno);
  return static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
}

DirectoryLock::DirectoryLock(const std::string& path)
    : descriptor_(open_or_fail(path, O_RDONLY | O_DIRECTORY, "cannot be opened")) {
  if (uninterrupted([&] { return ::flock(descriptor_, LOCK_EX | LOCK_NB); }) == 0)
    return;
  const int error = errno;
  ::close(descriptor_);
  if (error == EWOULDBLOCK)
    throw Failure(Exit::environment, path + ": another process is writing into this directory");
  if (error != EOPNOTSUPP && error != ENOLCK)
    fail(path, "cannot be locked", error);
  descriptor_ = -1;  // a file system without locks: nothing is held
}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

}  // namespace mtf
