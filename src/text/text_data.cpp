// A stream of bytes over several files, and windows of it.
#include "text/text_data.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "io/convert.h"
#include "io/file.h"
#include "io/random_bits.h"

namespace mtf {
namespace {

// Several files as one sequence of bytes. Files are opened for each read: there may be thousands.
class ByteStream {
 public:
  explicit ByteStream(std::vector<std::string> paths) : paths_(std::move(paths)) {
    for (const std::string& path : paths_) {
      const File file = File::open(path);
      marks_.push_back(mark_bytes(file));
      ends_.push_back(size() + file.size() - marks_.back());
    }
  }

  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  // The file that byte `at` lies in, and where in it.
  std::pair<const std::string&, int64_t> place(int64_t at) const {
    const size_t f = index_of(at);
    return {paths_[f], at - begin(f) + marks_[f]};
  }

  void read(int64_t at, std::span<std::byte> out) const {
    for (size_t f = index_of(at); !out.empty(); ++f) {
      const int64_t file_bytes = ends_[f] - begin(f) + marks_[f];
      const File file = File::open(paths_[f]);
      if (file.size() != file_bytes)
        throw Failure(Exit::bad_input, fmt::format("{}: had {} bytes at the start, now has {}",
                                                   paths_[f], file_bytes, file.size()));
      const auto piece = out.first(std::min(out.size(), static_cast<size_t>(ends_[f] - at)));
      file.read(at - begin(f) + marks_[f], piece);
      at += static_cast<int64_t>(piece.size());
      out = out.subspan(piece.size());
    }
  }

 private:
  static int64_t mark_bytes(const File& file) {
    constexpr std::array<std::byte, 3> mark = {std::byte{0xef}, std::byte{0xbb}, std::byte{0xbf}};
    std::array<std::byte, 3> first{};
    if (file.size() < 3)
      return 0;
    file.read(0, first);
    return first == mark ? 3 : 0;
  }
  size_t index_of(int64_t at) const {
    return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
  }
  int64_t begin(size_t file) const { return file == 0 ? 0 : ends_[file - 1]; }

  std::vector<std::string> paths_;
  std::vector<int64_t> marks_;  // bytes of each file's byte order mark, which are no text
  std::vector<int64_t> ends_;   // in the stream
};

struct Windows {
  ByteStream stream;
  int64_t train;  // bytes before those for validation
  int64_t length;
  uint64_t seed;

  int64_t begin(const Example& e) const {
    if (e.split == Split::validation)
      return train + e.position() * length;
    CHECK(train > length, "there is no text to train on");
    return below(train - length, random_bits({seed, static_cast<uint64_t>(e.step),
                                              static_cast<uint64_t>(e.index)}));
  }
};

void read_example(const Windows& windows, const BatchInput& input, const Example& example,
                  const Box& box, std::span<std::byte> out) {
  const bool targets = input.name == "targets";
  const int64_t begin = windows.begin(example) + box.origin[0] + (targets ? 1 : 0);
  const int64_t count = box.size[0];
  const int64_t there = std::clamp<int64_t>(windows.stream.size() - begin, 0, count);
  std::vector<std::byte> bytes(static_cast<size_t>(there));
  windows.stream.read(begin, bytes);
  for (int64_t i = 0; i < count; ++i)
    store_integer(input.dtype, out.data(), i,
                  i < there ? static_cast<int64_t>(bytes[static_cast<size_t>(i)])
                  : targets ? -1
                            : 0);
}

void check_bytes(const ByteStream& stream, int64_t low, int64_t high) {
  if (low <= 0 && high >= 256)
    return;
  std::vector<std::byte> buffer;
  for (int64_t at = 0; at < stream.size(); at += static_cast<int64_t>(buffer.size())) {
    buffer.resize(static_cast<size_t>(std::min<int64_t>(1 << 20, stream.size() - at)));
    stream.read(at, buffer);
    for (size_t i = 0; i < buffer.size(); ++i)
      if (const auto v = static_cast<int64_t>(buffer[i]); v < low || v >= high) {
        const auto [path, offset] = stream.place(at + static_cast<int64_t>(i));
        throw Failure(Exit::bad_input,
                      fmt::format("{}: byte {}: token {} is not in the range {} to {}", path,
                                  offset, v, low, high - 1));
      }
  }
}

// The common length of the inputs, which get -1 for absent targets.
int64_t check_inputs(std::vector<BatchInput>& inputs) {
  int64_t length = 0;
  for (BatchInput& input : inputs) {
    const bool known = input.name == "tokens" || input.name == "targets";
    if (!known || input.dtype != DType::i32 || input.size.size() != 2 || input.batch < 0)
      throw Failure(Exit::spec,
                    fmt::format("data.text gives 'tokens' and 'targets' as [batch, length] of i32; "
                                "input '{}' is {} of {}",
                                input.name, show(input.size), name_of(input.dtype)));
    const int64_t size = input.size[input.batch == 0 ? 1 : 0];
    if (length != 0 && size != length)
      throw Failure(
          Exit::spec,
          fmt::format("data.text: 'tokens' and 'targets' have lengths {} and {}", length, size));
    length = size;
    input.absent = input.name == "targets" ? -1 : 0;
  }
  return length;
}

}  // namespace

std::vector<std::string> expand_patterns(std::span<const std::string> patterns) {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    const int result = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
    std::vector<std::string> matches(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (result != 0 && result != GLOB_NOMATCH)
      throw Failure(Exit::environment, pattern + ": its directories cannot be read");
    if (matches.empty())
      throw Failure(Exit::bad_input, pattern + ": no file matches");
    std::sort(matches.begin(), matches.end());
    paths.insert(paths.end(), matches.begin(), matches.end());
  }
  return paths;
}

Dataset text_dataset(std::vector<BatchInput> inputs, std::span<const std::string> patterns,
                     double validation, uint64_t seed) {
  const int64_t length = check_inputs(inputs);
  ByteStream stream(expand_patterns(patterns));
  const int64_t kept = validation_share(stream.size(), validation);
  const int64_t train = stream.size() - kept;
  if (train <= length && validation < 1)
    throw Failure(
        Exit::bad_input,
        fmt::format("{}: expected at least {} bytes of training text (length + 1), found {}",
                    patterns[0], length + 1, train));
  const auto windows =
      std::make_shared<const Windows>(Windows{std::move(stream), train, length, seed});
  ExampleSource source;
  source.train_examples = train / std::max<int64_t>(length, 1);
  source.validation_examples = kept < 2 ? 0 : (kept - 2) / length + 1;
  source.read = [windows](const auto& input, const auto& example, const Box& box, auto out) {
    read_example(*windows, input, example, box, out);
  };
  source.check_range = [windows](const BatchInput&, int64_t low, int64_t high) {
    check_bytes(windows->stream, low, high);
  };
  return Dataset(std::move(inputs), std::move(source));
}

}  // namespace mtf
