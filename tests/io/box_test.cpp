#include "io/box.h"

#include <numeric>

#include "io/digest.h"
#include "temp_dir.h"

using namespace mtf;

TEST_CASE("a box of an array equals the slice computed element by element") {
  const std::vector<int64_t> whole{4, 5, 6}, zero{0, 0, 0};
  std::vector<int32_t> array(120);
  std::iota(array.begin(), array.end(), 0);
  TempDir dir;
  const auto bytes = bytes_of(array);
  write_file(dir / "raw", "base" + std::string(reinterpret_cast<const char*>(bytes.data()), 480));
  const File file = File::open(dir / "raw");

  int boxes = 0;
  for (int64_t a = 0; a < 4; ++a)
    for (int64_t b = 0; b < 5; ++b)
      for (int64_t c = 0; c < 6; ++c)
        for (int64_t n : {1, 2, 4, 6}) {
          const Box box{{a, b, c},
                        {std::min<int64_t>(n, 4 - a), std::min<int64_t>(n + 1, 5 - b),
                         std::min<int64_t>(n, 6 - c)}};
          std::vector<int32_t> out(static_cast<size_t>(elements(box.size)), -1), expected;
          for (int64_t i = 0; i < box.size[0]; ++i)
            for (int64_t j = 0; j < box.size[1]; ++j)
              for (int64_t k = 0; k < box.size[2]; ++k)
                expected.push_back(static_cast<int32_t>((a + i) * 30 + (b + j) * 6 + c + k));
          read_box(file, 4, 4, {whole, box.origin}, {box.size, zero}, box.size,
                   bytes_in(out).data());
          REQUIRE(out == expected);
          ++boxes;
        }
  CHECK(boxes == 480);
}

TEST_CASE("runs join what is whole in both arrays, and a scalar is one run") {
  const std::vector<int64_t> whole{4, 5, 6}, origin{1, 0, 0}, extent{2, 5, 6}, zero{0, 0, 0};
  std::vector<std::vector<int64_t>> runs;
  const auto note = [&](int64_t a, int64_t b, int64_t n) { runs.push_back({a, b, n}); };
  for_each_run({whole, origin}, {extent, zero}, extent, note);
  CHECK(runs == std::vector<std::vector<int64_t>>{{30, 0, 60}});
  runs.clear();
  for_each_run({{}, {}}, {{}, {}}, {}, note);
  CHECK(runs == std::vector<std::vector<int64_t>>{{0, 0, 1}});
}

TEST_CASE("boxes: intersection, inside, sizes a file claims") {
  CHECK(intersection({{0, 2}, {3, 4}}, {{2, 0}, {5, 3}}) == Box{{2, 2}, {1, 1}});
  CHECK(!intersection({{0}, {3}}, {{3}, {2}}));
  CHECK(inside({{1, 0}, {2, 3}}, std::vector<int64_t>{3, 3}));
  CHECK(!inside({{2, 0}, {2, 3}}, std::vector<int64_t>{3, 3}));
  CHECK(!inside({{INT64_MAX}, {2}}, std::vector<int64_t>{3}));
  CHECK(checked_bytes(std::vector<int64_t>{3, 0, 7}, 4) == 0);
  CHECK(!checked_bytes(std::vector<int64_t>{int64_t{1} << 32, int64_t{1} << 31}, 1));
  CHECK(!checked_bytes(std::vector<int64_t>{-1}, 1));
}

TEST_CASE("crc64 has the published check value and may be computed in parts") {
  CHECK(crc64("123456789") == 0x995DC9BBDF1939FA);
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const auto bytes = std::as_bytes(std::span(text));
    CHECK(crc64(bytes.subspan(cut), crc64(bytes.first(cut))) == crc64(text));
  }
}

TEST_CASE("files: absent, not regular, too short, replaced at once") {
  TempDir dir;
  CHECK(failure_of(Exit::bad_input, [&] { File::open(dir / "absent"); }).find(dir / "absent") == 0);
  CHECK(failure_of(Exit::bad_input, [&] { File::open(dir.path()); }).find("regular") !=
        std::string::npos);
  write_atomically(dir / "a", "old");
  const File old = File::open(dir / "a");
  write_atomically(dir / "a", "newer");
  CHECK(old.read_all(10) == "old");
  CHECK(read_file(dir / "a") == "newer");
  std::vector<std::byte> out(4);
  const std::string message = failure_of(Exit::bad_input, [&] { old.read(0, out); });
  CHECK(message.find("expected 4 bytes at byte 0, found 3") != std::string::npos);
  CHECK(free_bytes(dir / "not/yet/made") > 0);
  std::filesystem::create_symlink(dir / "a", dir / "link");
  CHECK(File::open(dir / "link").read_all(10) == "newer");
  failure_of(Exit::bad_input, [&] { File::open(dir / "link", File::Links::refuse); });
}

TEST_CASE("one process at a time writes into a directory") {
  TempDir dir;
  {
    const DirectoryLock first(dir.path());
    failure_of(Exit::environment, [&] { DirectoryLock second(dir.path()); });
  }
  const DirectoryLock again(dir.path());
}
