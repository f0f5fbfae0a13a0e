#include "io/checkpoint.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <numeric>
#include <random>

#include "io/digest.h"
#include "io/manifest.h"
#include "temp_dir.h"

using namespace mtf;
namespace fs = std::filesystem;

namespace {

constexpr int64_t rows = 6, columns = 8;

// Element [i, j] of tensor w at a step: a closed form.
float element(int64_t i, int64_t j, int64_t step) {
  return static_cast<float>(100 * step + 10 * i + j);
}

std::vector<float> values_of(const Box& box, int64_t step) {
  std::vector<float> values;
  for (int64_t i = 0; i < box.size[0]; ++i)
    for (int64_t j = 0; j < box.size[1]; ++j)
      values.push_back(element(box.origin[0] + i, box.origin[1] + j, step));
  return values;
}

Publication write_shards(const std::string& dir, int64_t step, int a, int b) {
  Publication publication{step, "run1", {{"seed", "7"}, {"spec", "mtf: 1\n\"x\""}}, {}, 2};
  prepare_save(dir, step, "run1");
  const double t = 0.5 + static_cast<double>(step);
  for (int rank = 0; rank < a * b; ++rank) {
    const Box box{{rank / b * (rows / a), rank % b * (columns / b)}, {rows / a, columns / b}};
    const std::vector<float> values = values_of(box, step);
    std::vector<TensorBox> boxes{{"layers[0]/w",
                                  DType::f32,
                                  {"in", "out"},
                                  {rows, columns},
                                  box.origin,
                                  box.size,
                                  reinterpret_cast<const std::byte*>(values.data())}};
    if (rank == 0)
      boxes.push_back({"t", DType::f64, {}, {}, {}, {}, reinterpret_cast<const std::byte*>(&t)});
    publication.shards.push_back(write_shard(dir, step, "run1", rank, boxes));
  }
  return publication;
}

void save(const std::string& dir, int64_t step, int a, int b) {
  publish(dir, write_shards(dir, step, a, b));
}

std::vector<float> read(const Checkpoint& c, const Box& box) {
  std::vector<float> out(static_cast<size_t>(elements(box.size)));
  c.read("layers[0]/w", box.origin, box.size, bytes_in(out));
  return out;
}

}  // namespace

TEST_CASE("checkpoint: any box is read back, whatever mesh wrote it") {
  for (const auto& [a, b] :
       std::vector<std::pair<int, int>>{{1, 1}, {2, 2}, {3, 1}, {1, 4}, {6, 8}}) {
    TempDir dir;
    save(dir.path(), 12, a, b);
    const Checkpoint c = Checkpoint::open(dir.path());
    CHECK(c.step() == 12);
    CHECK(c.run_id() == "run1");
    CHECK(c.state().at("spec") == "mtf: 1\n\"x\"");
    REQUIRE(c.tensors().size() == 2);
    CHECK(*c.find("layers[0]/w") ==
          TensorInfo{"layers[0]/w", DType::f32, {"in", "out"}, {rows, columns}});
    CHECK(c.find("absent") == nullptr);
    for (const Box& box : {Box{{0, 0}, {6, 8}}, Box{{1, 1}, {4, 6}}, Box{{5, 7}, {1, 1}},
                           Box{{2, 0}, {1, 8}}, Box{{0, 3}, {6, 2}}})
      CHECK(read(c, box) == values_of(box, 12));
    std::vector<double> t(1);
    c.read("t", {}, {}, bytes_in(t));
    CHECK(t[0] == 12.5);
  }
}

TEST_CASE("checkpoint: newest first, older ones pruned only after publishing") {
  TempDir dir;
  for (int64_t step : {5, 10, 100}) {
    const Publication p = write_shards(dir.path(), step, 2, 1);
    const size_t before = saved_steps(dir.path()).size();
    CHECK(before == std::min<size_t>(2, static_cast<size_t>(step == 5 ? 0 : step == 10 ? 1 : 2)));
    publish(dir.path(), p);
  }
  CHECK(saved_steps(dir.path()) == std::vector<int64_t>{100, 10});
  CHECK(read_file(dir / "latest") == "step_100\n");
  CHECK(fs::status(dir / "step_100").permissions() == fs::perms::owner_all);
  CHECK(Checkpoint::open(dir / "step_10").step() == 10);
  save(dir.path(), 50, 1, 1);  // resumed from 10: what is newer stays
  CHECK(saved_steps(dir.path()) == std::vector<int64_t>{100, 50, 10});
}

TEST_CASE("checkpoint: an unpublished save is never seen and is cleaned up") {
  TempDir dir;
  save(dir.path(), 1, 1, 1);
  write_shards(dir.path(), 2, 2, 2);  // killed here
  CHECK(fs::exists(dir / "step_2.tmp-run1"));
  CHECK(Checkpoint::open(dir.path()).step() == 1);
  CHECK(saved_steps(dir.path()) == std::vector<int64_t>{1});
  write_file(dir / "step_2.tmp-run1/manifest.json", "{}");  // killed later
  CHECK(Checkpoint::open(dir.path()).step() == 1);
  write_file(dir / "step_notes.tmp-mine", "not ours");
  prepare_save(dir.path(), 3, "run2");
  CHECK(!fs::exists(dir / "step_2.tmp-run1"));
  CHECK(fs::exists(dir / "step_notes.tmp-mine"));
  discard_save(dir.path(), 3, "run2");
  CHECK(!fs::exists(dir / "step_3.tmp-run2"));
  CHECK(Checkpoint::open(dir.path()).step() == 1);
}

TEST_CASE("checkpoint: a step of the same number is replaced") {
  TempDir dir;
  save(dir.path(), 1, 1, 1);
  fs::remove(dir / "step_1/manifest.json");
  save(dir.path(), 1, 2, 1);
  CHECK(read(Checkpoint::open(dir.path()), {{0, 0}, {6, 8}}) == values_of({{0, 0}, {6, 8}}, 1));
  CHECK(!fs::exists(dir / "step_1.tmp-run1"));
}

TEST_CASE("checkpoint: boxes must tile each tensor before anything is published") {
  TempDir dir;
  Publication p = write_shards(dir.path(), 1, 2, 1);
  Publication half = p;
  half.shards.pop_back();
  CHECK(failure_of(Exit::bug, [&] { publish(dir.path(), half); }).find("hold 24 elements") !=
        std::string::npos);
  const std::vector<float> row(columns);
  const TensorBox box{"layers[0]/w",
                      DType::f32,
                      {"in", "out"},
                      {rows, columns},
                      {0, 0},
                      {1, columns},
                      reinterpret_cast<const std::byte*>(row.data())};
  p.shards.push_back(write_shard(dir.path(), 1, "run1", 2, {&box, 1}));
  CHECK(failure_of(Exit::bug, [&] { publish(dir.path(), p); }).find("overlap") !=
        std::string::npos);
  CHECK(saved_steps(dir.path()).empty());
}

TEST_CASE("checkpoint: damaged sizes pass a step over; damaged bytes are refused") {
  TempDir dir;
  save(dir.path(), 1, 2, 1);
  save(dir.path(), 2, 2, 1);
  const std::string shard = dir / "step_2/shard_1.safetensors";
  const std::string whole = read_file(shard);
  for (const std::string& bad : {whole.substr(0, whole.size() - 1), whole + "x", std::string()}) {
    write_file(shard, bad);
    const Checkpoint c = Checkpoint::open(dir.path());
    CHECK(c.step() == 1);
    REQUIRE(c.passed_over().size() == 1);
    CHECK(c.passed_over()[0].find(shard) == 0);
    CHECK(c.passed_over()[0].find("found " + std::to_string(bad.size())) != std::string::npos);
  }
  std::string flipped = whole;
  flipped[whole.size() - 1] ^= 1;
  write_file(shard, flipped);
  const std::string message = failure_of(Exit::bad_input, [&] { Checkpoint::open(dir.path()); });
  CHECK(message.find("bytes " + std::to_string(whole.size() - 96) + " to " +
                     std::to_string(whole.size()) + " (tensor 'layers[0]/w')") !=
        std::string::npos);
  CHECK(Checkpoint::open(dir.path(), 0, 2).step() == 2);  // the other rank's share is sound
  failure_of(Exit::bad_input, [&] { Checkpoint::open(dir.path(), 1, 2); });
  fs::remove(shard);
  CHECK(Checkpoint::open(dir.path()).step() == 1);
  fs::create_symlink(dir / "step_1/shard_1.safetensors", shard);
  CHECK(Checkpoint::open(dir.path()).step() == 1);
}

// A manifest in which `from` became `to`, with the digest that belongs to it.
std::string forged(std::string manifest, const std::string& from, const std::string& to) {
  manifest.replace(manifest.find(from), from.size(), to);
  const size_t digits = manifest.find(": \"") + 3;
  return manifest.replace(digits, 16, in_hex(crc64(manifest.substr(digits + 18))));
}

TEST_CASE("checkpoint: nothing that a manifest says leads to another file") {
  TempDir dir;
  save(dir / "outside", 1, 1, 1);
  save(dir / "run", 1, 1, 1);
  const std::string path = dir / "run/step_1/manifest.json", whole = read_file(path);
  write_file(path, forged(whole, "\"rank\": 0", "\"rank\": 0"));
  CHECK(Checkpoint::open(dir / "run").step() == 1);
  for (const std::string rank :
       {"\"../../outside/step_1/shard_0.safetensors\"", "\"/etc/passwd\"", "\"0\"", "0.0", "[0]",
        "\"0/../../../outside/step_1/shard_0\"", "null", "{}", "-1", "9223372036854775807"}) {
    write_file(path, forged(whole, "\"rank\": 0", "\"rank\": " + rank));
    INFO(rank);
    CHECK(failure_of(Exit::bad_input, [&] { Checkpoint::open(dir / "run"); }).find(path) !=
          std::string::npos);
  }
  write_file(path, forged(whole, "\"rank\": 0", "\"rank\": 7"));
  CHECK(failure_of(Exit::bad_input, [&] {
          Checkpoint::open(dir / "run");
        }).find(dir / "run/step_1/shard_7.safetensors") != std::string::npos);
  // The name of a tensor is no path.
  write_file(path, forged(whole, "layers[0]/w", "../../outside/w"));
  CHECK(failure_of(Exit::bad_input, [&] { Checkpoint::open(dir / "run"); }).find("disagree") !=
        std::string::npos);
}

TEST_CASE("checkpoint: links, pipes and folders in the place of its files are refused") {
  TempDir dir;
  save(dir / "outside", 1, 1, 1);
  for (const std::string name : {"manifest.json", "shard_0.safetensors"}) {
    save(dir / "run", 1, 1, 1);
    const std::string path = dir / "run/step_1/" + name;
    auto refused = [&](const char* why) {
      const std::string message =
          failure_of(Exit::bad_input, [&] { Checkpoint::open(dir / "run/step_1"); });
      INFO(message);
      CHECK(message.find(path) != std::string::npos);
      CHECK(message.find(why) != std::string::npos);
      fs::remove(path);
    };
    fs::remove(path);
    fs::create_symlink(dir / "outside/step_1/" + name, path);
    refused("symbolic links");
    fs::create_symlink("../../outside/step_1/" + name, path);
    refused("symbolic links");
    CHECK(::mkfifo(path.c_str(), 0600) == 0);
    refused("not a regular file");
    fs::create_directory(path);
    refused("not a regular file");
    fs::create_symlink("/dev/zero", path);
    refused("symbolic links");
  }
}

TEST_CASE("checkpoint: no flipped bit loads") {
  TempDir dir;
  save(dir.path(), 1, 1, 1);
  for (const std::string name : {"manifest.json", "shard_0.safetensors"}) {
    const std::string path = dir / "step_1/" + name;
    const std::string whole = read_file(path);
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
      std::string flipped = whole;
      flipped[random() % whole.size()] ^= static_cast<char>(1 << random() % 8);
      write_file(path, flipped);
      const std::string message =
          failure_of(Exit::bad_input, [&] { Checkpoint::open(dir.path()); });
      REQUIRE(message.find(path) != std::string::npos);
    }
    write_file(path, whole);
  }
  CHECK(Checkpoint::open(dir.path()).step() == 1);
}

TEST_CASE("checkpoint: nothing there, and another model's tensors") {
  TempDir dir;
  CHECK(failure_of(Exit::bad_input, [&] { Checkpoint::open(dir / "absent"); }).find("found none") !=
        std::string::npos);
  const std::vector<TensorInfo> want{
      {"a", DType::f32, {"x"}, {2}}, {"b", DType::f32, {"x"}, {2}}, {"c", DType::f32, {"x"}, {2}}};
  const std::vector<TensorInfo> have{{"c", DType::f64, {"x"}, {3}}, {"d", DType::f32, {}, {}}};
  CHECK(differences(want, want).empty());
  CHECK(differences(want, have) ==
        "2 missing: 'a' and 'b'; 1 not expected: 'd'; 1 different: 'c' is expected as [x=2] f32, "
        "found as [x=3] f64");
  std::vector<TensorInfo> many;
  for (int i = 10; i < 20; ++i)
    many.push_back({fmt::format("t{}", i), DType::f32, {}, {}});
  CHECK(differences({}, many) ==
        "10 not expected: 't10', 't11', 't12', 't13', 't14', 't15', 't16', 't17' and 2 more");
}
