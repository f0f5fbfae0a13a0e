// Every system call of a save is made to fail in turn: the step before must stay loadable, and a
// save that reports success must have succeeded. The functions below replace the C library's for
// the code under test.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "io/checkpoint.h"
#include "temp_dir.h"

using namespace mtf;

namespace {

enum class Call { none, open, write, fsync, rename, close, fallocate };

struct Fault {
  Call call = Call::none;
  int countdown = 0;  // fails when it reaches 0
  int error = 0;      // 0: a short write
  bool fired = false;
} fault;

bool fails(Call call) {
  if (fault.call != call || --fault.countdown != 0)
    return false;
  fault.fired = true;
  errno = fault.error;
  return true;
}

template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static auto* next = real<int(const char*, int, ...)>("open");
  return fails(Call::open) ? -1 : next(path, flags, mode);
}

ssize_t write(int descriptor, const void* data, size_t bytes) {
  static auto* next = real<ssize_t(int, const void*, size_t)>("write");
  if (fails(Call::write)) {
    if (fault.error != 0)
      return -1;
    bytes = (bytes + 1) / 2;
  }
  return next(descriptor, data, bytes);
}

int fsync(int descriptor) {
  static auto* next = real<int(int)>("fsync");
  return fails(Call::fsync) ? -1 : next(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  static auto* next = real<int(const char*, const char*)>("rename");
  return fails(Call::rename) ? -1 : next(from, to);
}

int close(int descriptor) {
  static auto* next = real<int(int)>("close");
  const int result = next(descriptor);
  return fails(Call::close) ? -1 : result;
}

int posix_fallocate(int descriptor, off_t offset, off_t bytes) {
  static auto* next = real<int(int, off_t, off_t)>("posix_fallocate");
  return fails(Call::fallocate) ? fault.error : next(descriptor, offset, bytes);
}

}  // extern "C"

namespace {

void save(const std::string& dir, int64_t step, int64_t count = 16) {
  Publication p{step, "run", {}, {}, 1};
  prepare_save(dir, step, p.run_id);
  const std::vector<float> half(static_cast<size_t>(count / 2), static_cast<float>(step));
  for (int rank = 0; rank < 2; ++rank) {
    const TensorBox box{"w",
                        DType::f32,
                        {"x"},
                        {count},
                        {rank * (count / 2)},
                        {count / 2},
                        reinterpret_cast<const std::byte*>(half.data())};
    p.shards.push_back(write_shard(dir, step, p.run_id, rank, {&box, 1}));
  }
  publish(dir, p);
}

int64_t loaded_step(const std::string& dir) {
  const Checkpoint c = Checkpoint::open(dir);
  std::vector<float> w(16);
  c.read("w", std::vector<int64_t>{0}, std::vector<int64_t>{16}, bytes_in(w));
  CHECK(w == std::vector<float>(16, static_cast<float>(c.step())));
  return c.step();
}

}  // namespace

TEST_CASE("faults: whatever call fails, a whole step loads, and success is never claimed falsely") {
  int failures = 0, successes = 0;
  for (Call call :
       {Call::open, Call::write, Call::fsync, Call::rename, Call::close, Call::fallocate})
    for (int error : {ENOSPC, EIO, EDQUOT, EFBIG, EINTR, 0}) {
      if (error == 0 && call != Call::write)
        continue;
      bool fired = true;
      for (int n = 1; fired; ++n) {
        TempDir dir;
        save(dir.path(), 1);
        bool thrown = false;
        fault = {call, n, error, false};
        try {
          save(dir.path(), 2);
        } catch (const Failure& e) {
          thrown = true;
          CHECK(e.code() == Exit::environment);
        }
        fired = fault.fired;
        fault = {};
        const int64_t step = loaded_step(dir.path());
        CHECK((thrown ? step >= 1 : step == 2));
        if (!fired || error == EINTR || error == 0)
          CHECK(!thrown);
        (thrown ? failures : successes) += 1;
        save(dir.path(), 3);  // and the next save works and cleans up
        CHECK(loaded_step(dir.path()) == 3);
        CHECK(names_in(dir.path()).size() == 2);  // step_3 and latest
      }
    }
  CHECK(failures > 100);
  CHECK(successes > 30);
}

TEST_CASE("faults: a job killed at any moment loses no published step") {
  TempDir dir;
  save(dir.path(), 1);
  int64_t published = 1;
  for (int kill_number = 0; kill_number < 50; ++kill_number) {
    int reports[2];
    REQUIRE(pipe(reports) == 0);
    const pid_t child = fork();
    if (child == 0) {
      for (int64_t step = published + 1;; ++step) {
        save(dir.path(), step);
        if (::write(reports[1], &step, sizeof step) != sizeof step)
          _exit(1);
      }
    }
    ::close(reports[1]);
    usleep(static_cast<useconds_t>(1000 + kill_number * 37 % 50 * 40));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    for (int64_t step; ::read(reports[0], &step, sizeof step) == sizeof step;)
      published = step;
    ::close(reports[0]);
    const int64_t loaded = loaded_step(dir.path());
    CHECK((loaded == published || loaded == published + 1));
    published = loaded;
  }
  CHECK(published > 1);
}

TEST_CASE("faults: a limit on file sizes and a full disk are errors with names") {
  TempDir dir;
  save(dir.path(), 1);
  const auto previous = signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{65536, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  const std::string message = failure_of(Exit::environment, [&] { save(dir.path(), 2, 1 << 20); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, previous);
  CHECK(message.find("shard_0.safetensors: reserving 2097") != std::string::npos);
  CHECK(message.find("File too large") != std::string::npos);
  CHECK(loaded_step(dir.path()) == 1);
}

TEST_CASE("faults: a full disk is an error before anything is written") {
  TempDir dir;
  std::filesystem::create_directory(dir / "small");
  if (mount("tmpfs", (dir / "small").c_str(), "tmpfs", 0, "size=1m") != 0) {
    WARN("skipped: no permission to mount a small file system");
    return;
  }
  const std::string run = dir / "small/run";
  save(run, 1);
  CHECK(free_bytes(run) < 1 << 20);
  const std::string message = failure_of(Exit::environment, [&] { save(run, 2, 1 << 20); });
  CHECK(message.find("No space left") != std::string::npos);
  discard_save(run, 2, "run");
  CHECK(loaded_step(run) == 1);
  save(run, 3);
  CHECK(loaded_step(run) == 3);
  CHECK(umount((dir / "small").c_str()) == 0);
}
