// Reads and plans damaged specs under limits of time and memory, in child processes that may die.
// Called as: mutated_specs MTF COUNT FIRST_SEED FOLDER... (folders of specs to damage). What breaks
// a promise is kept as failed_SEED.yaml in the working directory; COUNT 1 replays one seed.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <regex>

#include "base/error.h"
#include "mutator.h"
#include "plan/make_plan.h"
#include "report/diagnostics_text.h"

namespace {

namespace fs = std::filesystem;
using namespace mtf;

constexpr int workers = 2;
constexpr double most_seconds = 1;                // of CPU, for one spec
constexpr rlim_t most_bytes = rlim_t{200} << 20;  // of heap and stack
constexpr uint32_t executed_every = 100;          // these run the executable too

// What the workers write and the parent reads, in memory that outlives a worker.
struct Tally {
  std::atomic<uint32_t> at;  // the seed in work
  std::atomic<int> read, refused, placed, failed, executed;
};

struct Options {
  std::string executable;
  uint32_t count, first;
  std::vector<std::string> specs;
};

// A hundred layers tell a reader no more than two and take fifty times as long.
std::string shallow(const std::string& text) {
  return std::regex_replace(text, std::regex("\\blayers: [0-9]+"), "layers: 2");
}

std::vector<std::string> specs_in(const std::vector<std::string>& folders) {
  std::vector<std::string> paths, texts;
  for (const std::string& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".yaml")
        paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    texts.push_back(shallow({std::istreambuf_iterator<char>(in), {}}));
  }
  return texts;
}

std::string file_of(int worker) {
  return fmt::format("mutated_{}.yaml", worker);
}

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The exit code of `mtf validate` for what was found.
int code_for(const Diagnostics& found) {
  if (!found.has_errors())
    return static_cast<int>(Exit::ok);
  const bool only_budget =
      std::all_of(found.all().begin(), found.all().end(), [](const Diagnostic& d) {
        return d.severity != Severity::error || d.code == Code::budget_exceeded;
      });
  return static_cast<int>(only_budget ? Exit::does_not_fit : Exit::spec);
}

bool harmless(const std::string& shown) {
  return shown.find('\x1b') == std::string::npos && shown.find('\0') == std::string::npos;
}

// Returns what is wrong with how this file is taken; empty if nothing is.
std::string broken_promise(const std::string& path, const Options& o, bool execute, Tally& tally) {
  const double start = cpu_seconds();
  Sources sources;
  Diagnostics found;
  const Spec spec = read_spec(sources, path, {}, found);
  make_plan(spec, sources, natural_job(spec), found);
  check_inference(spec, sources, found);
  const bool safe = harmless(render_text(sources, found.all(), false));
  const double taken = cpu_seconds() - start;
  ++tally.read;
  if (found.has_errors()) {
    ++tally.refused;
    const auto first = std::find_if(found.all().begin(), found.all().end(),
                                    [](const auto& d) { return d.severity == Severity::error; });
    tally.placed += first->where.file >= 0 && first->where.line >= 1 && first->where.column >= 1;
  }
  if (!safe)
    return "a control character of the spec would reach the terminal";
  if (taken > most_seconds)
    return fmt::format("it took {:.2f} s", taken);
  if (!execute)
    return "";
  ++tally.executed;
  const int status =
      std::system(fmt::format("'{}' validate {} >/dev/null 2>&1", o.executable, path).c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return code == code_for(found)
             ? ""
             : fmt::format("mtf exits with {}, its diagnostics say {}", code, code_for(found));
}

void keep(uint32_t seed, const std::string& path, const std::string& why) {
  const std::string kept = fmt::format("failed_{}.yaml", seed);
  fs::copy_file(path, kept, fs::copy_options::overwrite_existing);
  fmt::print("seed {}: {}; kept as {}\n", seed, why, kept);
}

// Each worker takes every `workers`th seed, beginning with tally.at.
void work(int worker, const Options& o, Tally& tally) {
  const rlimit memory{most_bytes, most_bytes}, no_core{0, 0};
  setrlimit(RLIMIT_DATA, &memory);
  setrlimit(RLIMIT_CORE, &no_core);
  for (uint32_t seed = tally.at; seed < o.first + o.count; seed += workers) {
    tally.at = seed;
    std::ofstream(file_of(worker), std::ios::binary) << Mutator(o.specs, seed)();
    const itimerval last_resort{{0, 0}, {5, 0}};
    setitimer(ITIMER_PROF, &last_resort, nullptr);
    std::string why;
    try {
      why = broken_promise(file_of(worker), o, seed % executed_every == 0, tally);
    } catch (const std::bad_alloc&) {
      why = fmt::format("it needs more than {} MiB", most_bytes >> 20);
    } catch (const std::exception& e) {
      why = fmt::format("it throws: {}", e.what());
    }
    if (!why.empty()) {
      ++tally.failed;
      keep(seed, file_of(worker), why);
    }
  }
}

pid_t start(int worker, const Options& o, Tally& tally) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0)
    return child;
  work(worker, o, tally);
  std::fflush(stdout);
  _exit(0);
}

// Runs the workers; one that dies is replaced, after the seed that it died of.
void run(const Options& o, Tally* tallies) {
  pid_t children[workers];
  for (int w = 0; w < workers; ++w) {
    tallies[w].at = o.first + static_cast<uint32_t>(w);
    children[w] = start(w, o, tallies[w]);
  }
  for (int running = workers; running > 0;) {
    int status = 0;
    const pid_t ended = wait(&status);
    const int w = static_cast<int>(std::find(children, children + workers, ended) - children);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      --running;
      continue;
    }
    keep(tallies[w].at, file_of(w),
         WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit {}", WEXITSTATUS(status)));
    ++tallies[w].failed;
    tallies[w].at += workers;
    children[w] = start(w, o, tallies[w]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print("usage: {} MTF COUNT FIRST_SEED FOLDER...\n", argv[0]);
    return 2;
  }
  const Options o{argv[1], static_cast<uint32_t>(std::atoi(argv[2])),
                  static_cast<uint32_t>(std::atoi(argv[3])), specs_in({argv + 4, argv + argc})};
  void* shared = mmap(nullptr, sizeof(Tally) * workers, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* tallies = new (shared) Tally[workers]();
  run(o, tallies);
  int read = 0, refused = 0, placed = 0, failed = 0, executed = 0;
  for (int w = 0; w < workers; ++w) {
    read += tallies[w].read;
    refused += tallies[w].refused;
    placed += tallies[w].placed;
    failed += tallies[w].failed;
    executed += tallies[w].executed;
    fs::remove(file_of(w));
  }
  fmt::print("{} damaged specs of {}: {} refused, {} of them with a place, {} run, {} failed\n",
             read, o.specs.size(), refused, placed, executed, failed);
  const bool some = o.count < 1000 || (refused > read / 2 && read > refused);
  return failed == 0 && some && placed * 100 >= refused * 99 ? 0 : 1;
}
