// Work that fails on some ranks is one failure of all; records travel to and from rank 0.
#include <atomic>
#include <catch2/catch.hpp>

#include "runtime/agreement.h"
#include "runtime/thread_communicator.h"

using namespace mtf;

TEST_CASE("the lowest rank that failed speaks for all") {
  const int ranks = GENERATE(1, 2, 3, 8);
  for (int first = 0; first < ranks; ++first) {
    CAPTURE(ranks, first);
    const std::string text(1000, static_cast<char>('a' + first));
    std::atomic<int> told = 0;
    run_ranks(ranks, [&](Communicator& c) {
      try {
        together(c, [&] {
          if (c.rank() == first)
            throw Failure(Exit::bad_input, text);
          if (c.rank() > first)
            throw Failure(Exit::environment, "another");
        });
      } catch (const SharedFailure& f) {
        told += f.code() == Exit::bad_input && f.what() == text;
      }
    });
    CHECK(told == ranks);
  }
}

TEST_CASE("work that succeeds everywhere fails nowhere; memory that is not there is a failure") {
  run_ranks(4, [&](Communicator& c) { together(c, [] {}); });
  std::atomic<int> told = 0;
  run_ranks(4, [&](Communicator& c) {
    try {
      together(c, [&] {
        if (c.rank() == 3)
          throw std::bad_alloc();
      });
    } catch (const SharedFailure& f) {
      told += f.code() == Exit::environment && f.what() == std::string("out of memory");
    }
  });
  CHECK(told == 4);
}

TEST_CASE("records are gathered in order of rank, and rank 0's word reaches all") {
  std::atomic<int> good = 0;
  run_ranks(5, [&](Communicator& c) {
    const std::vector<int> all = gather(c, 10 * c.rank());
    int number = c.rank() == 0 ? 42 : -1;
    spread(c, number);
    std::string text = c.rank() == 0 ? "of rank 0" : "";
    spread(c, text);
    std::string nothing = c.rank() == 0 ? "" : "mine";
    spread(c, nothing);
    good += number == 42 && text == "of rank 0" && nothing.empty() &&
            (c.rank() != 0 || all == std::vector<int>{0, 10, 20, 30, 40});
  });
  CHECK(good == 5);
}
