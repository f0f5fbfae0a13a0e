#include "runtime/machine.h"

#include <fmt/format.h>
#include <sleef.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "runtime/mpi_communicator.h"
#include "runtime/thread_pool.h"

namespace mtf {
namespace {

// The value of the first line "key : value" of a file of the system; empty if there is none.
std::string line_value(const char* path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with(key) && colon != std::string::npos) {
      const size_t begin = line.find_first_not_of(" \t", colon + 1);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return {};
}

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string space_at(const char* path) {
  std::error_code error;
  const auto space = std::filesystem::space(path, error);
  return error ? "not readable" : in_bytes(static_cast<int64_t>(space.available)) + " free";
}

// Where a command would be started from; empty if it would not be found.
std::string on_path(const std::string& command) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + command).c_str(), X_OK) == 0)
      return folder + "/" + command;
  return {};
}

std::string instruction_sets() {
  std::string out;
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
    if (isa_available(isa))
      out += (out.empty() ? "" : ", ") + std::string(name_of(isa));
  return fmt::format("{}; {} is used", out, name_of(best_isa()));
}

}  // namespace

std::vector<Fact> machine_facts() {
  const std::string model = line_value("/proc/cpuinfo", "model name");
  const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  const auto cpus = static_cast<int>(cpus_of_rank(0, 1).size());
  const int threads = std::max(1, cpus);
  ThreadPool pool(threads);
  const std::string mpirun = on_path("mpirun");
  const std::string driver = first_line("/proc/driver/nvidia/version");
  return {
      {"processor", model.empty() ? "unknown" : model},
      {"cores",
       fmt::format("{} for this process of {}", threads, std::thread::hardware_concurrency())},
      {"instruction sets", instruction_sets()},
      {"f32 peak",
       fmt::format("{:.1f} GFLOP/s, measured on {} thread{}",
                   peak_flops(best_isa(), pool.team()) / 1e9, threads, threads == 1 ? "" : "s")},
      {"memory", in_bytes(memory)},
      {"/dev/shm", space_at("/dev/shm")},
      {"working directory", space_at(".")},
      {"mpirun", mpirun.empty() ? "not found on PATH: more than one rank cannot start" : mpirun},
      {"CUDA driver", driver.empty() ? "none" : driver},
  };
}

std::vector<Fact> library_versions() {
  return {
      {"MPI", mpi_library()},
      {"SLEEF",
       fmt::format("{}.{}.{}", SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL)},
      {"BLAS", "none: products are mtf's own, the same bits on every mesh"},
      {"oneDNN", "none"},
      {"CUDA", "none in this build"},
      {"NCCL", "none in this build"},
  };
}

}  // namespace mtf
