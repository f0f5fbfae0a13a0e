// Tasks are handed out by one counter. A job is opened, joined by whichever workers are awake in
// time, and closed when the caller finds no task left; it waits only for workers that joined.
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mtf {
namespace {

constexpr uint32_t open = uint32_t{1} << 31;

// Returns when `value` is no longer `old`: spins for a microsecond, then yields, then sleeps.
void wait_for_change(const std::atomic<uint32_t>& value, uint32_t old) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + std::chrono::microseconds(1);
  while (Clock::now() < until)
    if (value.load() != old)
      return;
  for (int i = 0; i < 100; ++i) {
    if (value.load() != old)
      return;
    std::this_thread::yield();
  }
  value.wait(old);
}

// Binding only makes things faster: where it is refused, the thread runs anywhere.
void bind(pthread_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  pthread_setaffinity_np(thread, sizeof set, &set);
}

std::vector<int> cpus_of_process(pid_t process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(process, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<size_t>(cpu), &set))
        cpus.push_back(cpu);
  return cpus;
}

}  // namespace

ThreadPool::ThreadPool(int threads, std::span<const int> cpus) {
  team_.size = std::max(threads, 1);
  team_.run = [this](int64_t tasks, TaskRef f) { run(tasks, f); };
  for (int i = 1; i < team_.size; ++i)
    workers_.emplace_back([this, i] { serve(i); });
  if (cpus.empty())
    return;
  bind(pthread_self(), cpus[0]);
  for (size_t i = 1; i <= workers_.size(); ++i)
    bind(workers_[i - 1].native_handle(), cpus[i % cpus.size()]);
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

void ThreadPool::run(int64_t tasks, TaskRef f) {
  if (tasks <= 1 || workers_.empty()) {
    for (int64_t i = 0; i < tasks; ++i)
      f(i, 0);
    return;
  }
  task_ = &f;
  tasks_ = tasks;
  next_ = 0;
  inside_ += open;
  ++round_;
  round_.notify_all();
  work(0);
  uint32_t inside = inside_ -= open;
  while (inside > 0) {
    wait_for_change(inside_, inside);
    inside = inside_;
  }
  if (failed_.test()) {
    failed_.clear();
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void ThreadPool::work(int thread) {
  try {
    for (int64_t i = next_++; i < tasks_; i = next_++)
      (*task_)(i, thread);
  } catch (...) {
    next_ = tasks_;
    if (!failed_.test_and_set())
      error_ = std::current_exception();
  }
}

void ThreadPool::serve(int thread) {
  for (uint32_t seen = 0;;) {
    wait_for_change(round_, seen);
    seen = round_;  // before the job is looked at: what changes from here on is seen next time
    if (stopping_)
      return;
    // A worker that comes too late finds the job closed and leaves it alone.
    if (++inside_ & open)
      work(thread);
    if (--inside_ == 0)
      inside_.notify_all();
  }
}

std::vector<int> cpus_of_rank(int local_rank, int local_size) {
  const std::vector<int> allowed = cpus_of_process(0);
  const int n = static_cast<int>(allowed.size());
  const bool bound = n < static_cast<int>(cpus_of_process(getppid()).size());
  if (bound || n == 0)
    return allowed;
  const int begin = local_rank * n / local_size;
  const int end = std::max((local_rank + 1) * n / local_size, begin + 1);
  return {allowed.begin() + begin, allowed.begin() + end};
}

}  // namespace mtf
