// The threads of one rank, as the Team that kernels are given. Ranks may outnumber cores, so an
// idle thread spins for a microsecond, then yields, then sleeps.
#pragma once

#include <atomic>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "kernel.h"

namespace mtf {

class ThreadPool {
 public:
  // `threads` (at least 1) counts the caller of run(), which is thread 0. Thread i is bound to
  // cpus[i % cpus.size()] where that is possible; with no cpus given nothing is bound.
  explicit ThreadPool(int threads, std::span<const int> cpus = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // One run at a time and none inside another. The first exception of a task is rethrown by run()
  // after all threads are done; tasks not yet begun are then dropped.
  Team& team() { return team_; }

 private:
  void run(int64_t tasks, TaskRef f);
  void work(int thread);
  void serve(int thread);

  Team team_;
  std::vector<std::thread> workers_;

  // The job: written only while it is closed and nobody is in it.
  const TaskRef* task_ = nullptr;
  int64_t tasks_ = 0;
  std::atomic<int64_t> next_ = 0;
  std::atomic_flag failed_;
  std::exception_ptr error_;

  std::atomic<uint32_t> round_ = 0;   // changes with each job; workers sleep on it
  std::atomic<uint32_t> inside_ = 0;  // workers in the job, plus `open` while it may be entered
  std::atomic<bool> stopping_ = false;
};

// The cpus for the `local_rank`-th of `local_size` ranks on this node: those that a launcher bound
// this process to (fewer than its parent has), else an even share, at least one. Empty if unknown.
std::vector<int> cpus_of_rank(int local_rank, int local_size);

}  // namespace mtf
