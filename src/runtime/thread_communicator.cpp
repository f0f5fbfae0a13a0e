// A rendezvous: the sender leaves the address of its buffer in the receiver's inbox and waits until
// the receiver has copied it, so each message is copied once and nothing is allocated.
#include "runtime/thread_communicator.h"

#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/error.h"

namespace mtf {

struct ThreadWorld::Inbox {
  explicit Inbox(int senders) : letters(static_cast<size_t>(senders)) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const std::span<const std::byte>*> letters;  // by sender; null: none
  bool failed = false;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadWorld& world, int rank) : world_(world), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_.inboxes_.size()); }

  void exchange(int destination, std::span<const std::byte> out, int source,
                std::span<std::byte> in) override {
    if (!out.empty())
      post(destination, &out);
    try {
      if (!in.empty())
        receive(source, in);
      if (!out.empty())
        wait_until_taken(destination);
    } catch (...) {
      if (!out.empty())
        take_back(destination);
      throw;
    }
  }

  void barrier() override {  // dissemination: after step k one has heard of 2^(k+1) ranks
    const std::byte out{};
    std::byte in{};
    for (int distance = 1; distance < size(); distance *= 2)
      exchange((rank_ + distance) % size(), {&out, 1}, (rank_ + size() - distance) % size(),
               {&in, 1});
  }

  [[noreturn]] void abort(int exit_code) override {
    world_.fail();
    throw Failure(static_cast<Exit>(exit_code), "a rank stopped all ranks");
  }

 private:
  using Letter = std::span<const std::byte>;
  using Lock = std::unique_lock<std::mutex>;

  ThreadWorld::Inbox& inbox(int rank) { return *world_.inboxes_[static_cast<size_t>(rank)]; }

  void post(int destination, const Letter* letter) {
    ThreadWorld::Inbox& box = inbox(destination);
    const Lock lock(box.mutex);
    CHECK(!box.letters[static_cast<size_t>(rank_)]);
    box.letters[static_cast<size_t>(rank_)] = letter;
    box.changed.notify_all();
  }

  // Copies under the lock, so that a sender that gives up cannot free its buffer meanwhile.
  void receive(int source, std::span<std::byte> in) {
    ThreadWorld::Inbox& box = inbox(rank_);
    Lock lock(box.mutex);
    const Letter*& letter = box.letters[static_cast<size_t>(source)];
    wait(box, lock, [&] { return letter != nullptr; });
    CHECK(letter->size() == in.size(), "the two ends of an exchange disagree on its size");
    std::memcpy(in.data(), letter->data(), in.size());
    letter = nullptr;
    box.changed.notify_all();
  }

  void wait_until_taken(int destination) {
    ThreadWorld::Inbox& box = inbox(destination);
    Lock lock(box.mutex);
    wait(box, lock, [&] { return !box.letters[static_cast<size_t>(rank_)]; });
  }

  void take_back(int destination) {
    ThreadWorld::Inbox& box = inbox(destination);
    const Lock lock(box.mutex);
    box.letters[static_cast<size_t>(rank_)] = nullptr;
  }

  template <class Condition>
  static void wait(ThreadWorld::Inbox& box, Lock& lock, Condition ready) {
    box.changed.wait(lock, [&] { return box.failed || ready(); });
    if (!ready())
      throw Failure(Exit::peer_died, "a peer rank failed");
  }

  ThreadWorld& world_;
  int rank_;
};

ThreadWorld::ThreadWorld(int size) {
  for (int rank = 0; rank < size; ++rank) {
    inboxes_.push_back(std::make_unique<Inbox>(size));
    ranks_.push_back(std::make_unique<ThreadCommunicator>(*this, rank));
  }
}

ThreadWorld::~ThreadWorld() = default;

Communicator& ThreadWorld::operator[](int rank) {
  return *ranks_[static_cast<size_t>(rank)];
}

void ThreadWorld::fail() {
  for (auto& box : inboxes_) {
    const std::lock_guard lock(box->mutex);
    box->failed = true;
    box->changed.notify_all();
  }
}

void run_ranks(int size, const std::function<void(Communicator&)>& body) {
  ThreadWorld world(size);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](int rank) {
    try {
      body(world[rank]);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first)
          first = std::current_exception();
      }
      world.fail();  // only now, so that the peers' own failures come later
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back(run, rank);
  for (std::thread& thread : threads)
    thread.join();
  if (first)
    std::rethrow_exception(first);
}

}  // namespace mtf
