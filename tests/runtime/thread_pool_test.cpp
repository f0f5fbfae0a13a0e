// The thread pool: every task once, on a thread that exists, whatever the numbers of both.
#include <atomic>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>
#include <set>

#include "runtime/thread_pool.h"

using namespace mtf;

TEST_CASE("every task is done exactly once before run returns") {
  const int threads = GENERATE(1, 2, 5);
  ThreadPool pool(threads);
  REQUIRE(pool.team().size == threads);
  for (int64_t tasks : {0, 1, 2, 3, 100, 1000})
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<std::atomic<int>> done(static_cast<size_t>(tasks));
      std::atomic<bool> known_thread = true;
      pool.team().run(tasks, [&](int64_t task, int thread) {
        ++done[static_cast<size_t>(task)];
        if (thread < 0 || thread >= threads)
          known_thread = false;
      });
      CHECK(std::all_of(done.begin(), done.end(), [](const auto& d) { return d == 1; }));
      CHECK(known_thread);
    }
}

TEST_CASE("tasks really run beside each other") {
  ThreadPool pool(3);
  std::atomic<int> arrived = 0;  // each task waits for the other two: one thread alone would hang
  pool.team().run(3, [&](int64_t, int) {
    ++arrived;
    while (arrived < 3)
      std::this_thread::yield();
  });
  CHECK(arrived == 3);
}

TEST_CASE("many short jobs give the sum of all tasks") {
  ThreadPool pool(4);
  std::atomic<int64_t> sum = 0;
  for (int job = 0; job < 3000; ++job)
    pool.team().run(7, [&](int64_t task, int) { sum += task; });
  CHECK(sum == 3000 * 21);
}

TEST_CASE("a task's exception comes out of run and the pool goes on") {
  ThreadPool pool(GENERATE(1, 3));
  const auto ill = [](int64_t task, int) {
    if (task == 5)
      throw std::runtime_error("task 5");
  };
  CHECK_THROWS_WITH(pool.team().run(100, ill), "task 5");
  std::atomic<int> done = 0;
  pool.team().run(100, [&](int64_t, int) { ++done; });
  CHECK(done == 100);
}

TEST_CASE("denormal numbers stay what they are on every thread") {
  ThreadPool pool(3);
  std::atomic<int> kept = 0, arrived = 0;
  pool.team().run(3, [&](int64_t, int) {
    ++arrived;
    while (arrived < 3)
      std::this_thread::yield();
    const volatile float smallest = std::numeric_limits<float>::min();
    const volatile float half = smallest / 2;
    kept += half > 0 && half * 2 == smallest;
  });
  CHECK(kept == 3);
}

TEST_CASE("local ranks share out the cpus of the node") {
  const std::vector<int> all = cpus_of_rank(0, 1);
  REQUIRE(!all.empty());
  std::set<int> seen;
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<int> mine = cpus_of_rank(rank, 4);
    CHECK(mine.size() >= 1);
    seen.insert(mine.begin(), mine.end());
  }
  CHECK(seen == std::set<int>(all.begin(), all.end()));
}

TEST_CASE("a pool bound to given cpus still works") {
  std::atomic<int> done = 0;
  std::thread([&] {  // binding the caller must not bind the other tests
    const std::vector<int> cpus = cpus_of_rank(1, 2);
    ThreadPool pool(3, cpus);
    pool.team().run(10, [&](int64_t, int) { ++done; });
  })
      .join();
  CHECK(done == 10);
}
