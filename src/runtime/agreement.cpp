// Agreement over point-to-point messages: outcomes go to rank 0, its verdict comes back.
#include "runtime/agreement.h"

#include <algorithm>
#include <new>

namespace mtf {
namespace {

struct Outcome {
  int code = 0;  // of Exit
  int64_t length = 0;
};

}  // namespace

void spread_bytes(Communicator& c, std::span<std::byte> word) {
  if (word.empty())
    return;
  if (c.rank() != 0)
    return c.exchange(0, {}, 0, word);
  for (int r = 1; r < c.size(); ++r)
    c.exchange(r, word, r, {});
}

void spread(Communicator& c, std::string& word) {
  auto length = static_cast<int64_t>(word.size());
  spread(c, length);
  word.resize(static_cast<size_t>(length));
  spread_bytes(c, std::as_writable_bytes(std::span(word)));
}

void together(Communicator& c, const std::function<void()>& work) {
  Outcome mine;
  std::string text;
  try {
    work();
  } catch (const Failure& f) {
    mine.code = static_cast<int>(f.code());
    text = f.what();
  } catch (const std::bad_alloc&) {
    mine.code = static_cast<int>(Exit::environment);
    text = "out of memory";
  }
  mine.length = static_cast<int64_t>(text.size());
  const std::vector<Outcome> all = gather(c, mine);
  const auto failed =
      std::find_if(all.begin(), all.end(), [](const Outcome& o) { return o.code != 0; });
  int speaker = failed == all.end() ? -1 : static_cast<int>(failed - all.begin());
  spread(c, speaker);
  if (speaker < 0)
    return;
  int code = failed == all.end() ? 0 : failed->code;
  spread(c, code);
  if (speaker != 0 && c.rank() == 0) {
    text.resize(static_cast<size_t>(failed->length));
    c.exchange(speaker, {}, speaker, std::as_writable_bytes(std::span(text)));
  } else if (speaker != 0 && c.rank() == speaker) {
    c.exchange(0, std::as_bytes(std::span(text)), 0, {});
  }
  spread(c, text);
  throw SharedFailure(static_cast<Exit>(code), text);
}

}  // namespace mtf
