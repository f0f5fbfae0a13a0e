#include "text/text_data.h"

#include <set>

#include "../io/temp_dir.h"
#include "text/tokenizer.h"

using namespace mtf;

namespace {

const BatchInput tokens{"tokens", {"batch", "length"}, {3, 4}, DType::i32, 0, 1, 0};
const BatchInput targets{"targets", {"batch", "length"}, {3, 4}, DType::i32, 0, 1, 0};

std::vector<int32_t> read(const Dataset& d, const std::string& input, Split split, int64_t step,
                          Box box = {{0, 0}, {3, 4}}) {
  std::vector<int32_t> out(static_cast<size_t>(elements(box.size)), 777);
  d.read(input, split, step, box.origin, box.size, bytes_in(out));
  return out;
}

// Byte i of the stream is i, over three files, one of them empty.
std::vector<std::string> write_stream(const TempDir& dir, int bytes, int cut) {
  std::string all;
  for (int i = 0; i < bytes; ++i)
    all += static_cast<char>(i);
  write_file(dir / "b.txt", all.substr(static_cast<size_t>(cut)));
  write_file(dir / "a.txt", all.substr(0, static_cast<size_t>(cut)));
  write_file(dir / "ab.txt", "");
  return {dir / "*.txt"};
}

}  // namespace

TEST_CASE("bytes: decode after encode gives every byte back") {
  const Tokenizer t = make_tokenizer("bytes");
  std::string all;
  for (int i = 0; i < 256; ++i)
    all += static_cast<char>(i);
  const auto ids = t.encode(all);
  CHECK(ids[255] == 255);
  CHECK(t.vocabulary == 256);
  CHECK(t.decode(ids) == all);
  CHECK(t.decode(std::vector<int32_t>{'a', 300, -1}) == "a\xEF\xBF\xBD\xEF\xBF\xBD");
  failure_of(Exit::spec, [] { make_tokenizer("words"); });
}

TEST_CASE("text: training windows lie in the training part and targets follow tokens") {
  TempDir dir;
  const Dataset d = text_dataset({tokens, targets}, write_stream(dir, 200, 37), 0.1, 5);
  CHECK(d.examples(Split::train) == 45);
  CHECK(d.steps_per_epoch() == 15);
  std::set<int32_t> starts;
  for (int64_t step = 0; step < 300; ++step) {
    const auto x = read(d, "tokens", Split::train, step);
    const auto y = read(d, "targets", Split::train, step);
    for (size_t i = 0; i < 12; ++i) {
      REQUIRE(y[i] == x[i] + 1);
      REQUIRE(x[i] == x[i / 4 * 4] + static_cast<int32_t>(i % 4));
    }
    for (size_t b = 0; b < 3; ++b)
      starts.insert(x[4 * b]);
  }
  // 180 bytes for training: windows of 5 bytes begin at 0 to 175; 900 draws of 176 miss about one.
  CHECK(*starts.begin() >= 0);
  CHECK(*starts.rbegin() <= 175);
  CHECK(starts.size() > 165);
  CHECK(starts.contains(175));
}

TEST_CASE("text: a batch depends on seed, step and example, not on how it is sliced") {
  TempDir dir;
  const auto patterns = write_stream(dir, 200, 100);
  const Dataset d = text_dataset({tokens, targets}, patterns, 0, 5);
  const Dataset same = text_dataset({tokens, targets}, patterns, 0, 5);
  const Dataset other = text_dataset({tokens, targets}, patterns, 0, 6);
  for (const char* input : {"tokens", "targets"})
    for (int64_t step : {0, 7}) {
      const auto whole = read(d, input, Split::train, step);
      CHECK(read(same, input, Split::train, step) == whole);
      CHECK(read(other, input, Split::train, step) != whole);
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t l = 0; l < 4; l += 2)
          CHECK(read(d, input, Split::train, step, {{b, l}, {1, 2}}) ==
                std::vector<int32_t>{whole[static_cast<size_t>(4 * b + l)],
                                     whole[static_cast<size_t>(4 * b + l + 1)]});
    }
}

TEST_CASE("text: validation predicts each byte of its part once, in order") {
  TempDir dir;
  for (int bytes = 100; bytes < 130; ++bytes) {
    const Dataset d = text_dataset({tokens, targets}, write_stream(dir, bytes, 90), 0.25, 5);
    const int kept = bytes / 4, first = bytes - kept;
    std::vector<int32_t> predicted;
    for (int64_t step = 0; step < d.validation_batches(); ++step) {
      const auto x = read(d, "tokens", Split::validation, step);
      const auto y = read(d, "targets", Split::validation, step);
      for (size_t i = 0; i < 12; ++i) {
        if (y[i] == -1)
          continue;
        CHECK(y[i] == x[i] + 1);
        predicted.push_back(y[i]);
      }
      CHECK(d.valid_examples(Split::validation, step) > 0);
    }
    std::vector<int32_t> expected;
    for (int i = first + 1; i < bytes; ++i)
      expected.push_back(i);
    CHECK(predicted == expected);
  }
}

TEST_CASE("text: line ends stay as they are, byte order marks go, file by file") {
  TempDir dir;
  const std::string mark = "\xef\xbb\xbf";
  write_file(dir / "a.txt", mark + "ab\r\n");
  write_file(dir / "b.txt", mark);
  write_file(dir / "c.txt", mark + "c\r\nd");
  const std::vector<std::string> patterns{dir / "*.txt"};
  const Dataset d = text_dataset({tokens, targets}, patterns, 1, 5);
  // 8 bytes: a b CR LF | c CR LF d
  CHECK(read(d, "tokens", Split::validation, 0) ==
        std::vector<int32_t>{'a', 'b', '\r', '\n', 'c', '\r', '\n', 'd', 0, 0, 0, 0});
  CHECK(read(d, "targets", Split::validation, 0) ==
        std::vector<int32_t>{'b', '\r', '\n', 'c', '\r', '\n', 'd', -1, -1, -1, -1, -1});
  CHECK(failure_of(Exit::bad_input, [&] { d.check_range("tokens", 0, 'd'); }) ==
        (dir / "c.txt") + ": byte 6: token 100 is not in the range 0 to 99");
}

TEST_CASE("text: what is missing, too short, changed or out of range is refused") {
  TempDir dir;
  const std::vector<std::string> absent{dir / "*.none"};
  CHECK(failure_of(Exit::bad_input, [&] { text_dataset({tokens}, absent, 0, 1); }) ==
        absent[0] + ": no file matches");
  const auto patterns = write_stream(dir, 100, 50);
  CHECK(expand_patterns(patterns) ==
        std::vector<std::string>{dir / "a.txt", dir / "ab.txt", dir / "b.txt"});
  const Dataset d = text_dataset({tokens}, patterns, 0, 1);
  CHECK(failure_of(Exit::bad_input, [&] { d.check_range("tokens", 0, 60); }) ==
        (dir / "b.txt") + ": byte 10: token 60 is not in the range 0 to 59");
  d.check_range("tokens", 0, 100);
  write_file(dir / "b.txt", "short");
  const auto message = failure_of(Exit::bad_input, [&] { d.check_range("tokens", 0, 100); });
  CHECK(message.find("had 50 bytes at the start, now has 5") != std::string::npos);
  write_stream(dir, 4, 2);
  CHECK(failure_of(Exit::bad_input, [&] {
          text_dataset({tokens}, patterns, 0, 1);
        }).find("at least 5 bytes") != std::string::npos);
  BatchInput wrong = tokens;
  wrong.dtype = DType::f32;
  failure_of(Exit::spec, [&] { text_dataset({wrong}, patterns, 0, 1); });
}
