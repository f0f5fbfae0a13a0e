// Rows of .npy files as examples.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "io/convert.h"
#include "io/dataset.h"
#include "io/npy.h"
#include "io/random_bits.h"

namespace mtf {
namespace {

// "[row, pixel=64] of f32": what a file for this input has to hold.
std::string expected_shape(const BatchInput& input) {
  std::string text = input.batch >= 0 ? "row" : "";
  for (size_t i = 0; i < input.size.size(); ++i)
    if (static_cast<int>(i) != input.batch)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", input.dims[i], input.size[i]);
  return fmt::format("[{}] of {}", text, name_of(input.dtype));
}

void check_fits(const NpyFile& file, const BatchInput& input) {
  std::vector<int64_t> wanted = input.size;
  if (input.batch >= 0) {
    wanted.erase(wanted.begin() + input.batch);
    wanted.insert(wanted.begin(), file.shape().empty() ? 0 : file.shape()[0]);
  }
  if (file.shape() != wanted)
    throw Failure(Exit::bad_input,
                  fmt::format("{}: input '{}' expects {}, found {}", file.path(), input.name,
                              expected_shape(input), show(file.shape())));
  if (!converts(file.type(), input.dtype))
    throw Failure(
        Exit::bad_input,
        fmt::format("{}: input '{}' expects {}, found elements of {}, which do not "
                    "convert exactly",
                    file.path(), input.name, expected_shape(input), name_of(file.type())));
}

struct Arrays {
  std::map<std::string, NpyFile, std::less<>> files;  // by input
  int64_t train = 0;                                  // rows before the validation rows
  uint64_t seed = 0;
};

void read_example(const Arrays& arrays, const BatchInput& input, const Example& example,
                  const Box& box, std::span<std::byte> out) {
  const NpyFile& file = arrays.files.at(input.name);
  if (input.batch < 0)
    return file.read(box, input.dtype, out);
  int64_t row = arrays.train + example.position();
  if (example.split == Split::train) {
    CHECK(arrays.train > 0, "there are no rows to train on");
    const auto epoch = static_cast<uint64_t>(example.position() / arrays.train);
    row = permuted(example.position() % arrays.train, arrays.train,
                   random_bits({arrays.seed, epoch}));
  }
  Box rows = box;
  rows.origin.insert(rows.origin.begin(), row);
  rows.size.insert(rows.size.begin(), 1);
  file.read(rows, input.dtype, out);
}

void check_values(const NpyFile& file, DType dtype, int64_t low, int64_t high) {
  if (elements(file.shape()) == 0)
    return;
  const bool scalar = file.shape().empty();
  const int64_t rows = scalar ? 1 : file.shape()[0];
  const int64_t row_elements = elements(file.shape()) / rows;
  const int64_t rows_at_once = std::max<int64_t>(1, (1 << 18) / row_elements);
  std::vector<std::byte> buffer;
  Box box{std::vector<int64_t>(file.shape().size(), 0), file.shape()};
  for (int64_t first = 0; first < rows; first += rows_at_once) {
    if (!scalar) {
      box.origin[0] = first;
      box.size[0] = std::min(rows_at_once, rows - first);
    }
    const int64_t count = elements(box.size);
    buffer.resize(static_cast<size_t>(count * size_of(dtype)));
    file.read(box, dtype, buffer);
    for (int64_t i = 0; i < count; ++i)
      if (const int64_t v = integer_at(dtype, buffer.data(), i); v < low || v >= high)
        throw Failure(Exit::bad_input,
                      fmt::format("{}: row {}: {} is not in the range {} to {}", file.path(),
                                  first + i / row_elements, v,
                                  low == INT32_MIN ? "up" : std::to_string(low), high - 1));
  }
}

// The number of rows of all files that have any; they must agree.
int64_t common_rows(const Arrays& arrays, std::span<const BatchInput> inputs) {
  const NpyFile* first = nullptr;
  for (const BatchInput& input : inputs) {
    if (input.batch < 0)
      continue;
    const NpyFile& file = arrays.files.at(input.name);
    if (first == nullptr)
      first = &file;
    if (file.shape()[0] != first->shape()[0])
      throw Failure(Exit::bad_input,
                    fmt::format("{} has {} rows, but {} has {}", file.path(), file.shape()[0],
                                first->path(), first->shape()[0]));
  }
  return first == nullptr ? 0 : first->shape()[0];
}

}  // namespace

Dataset array_dataset(std::vector<BatchInput> inputs, std::span<const ArrayFile> files,
                      double validation, uint64_t seed) {
  auto arrays = std::make_shared<Arrays>();
  for (const ArrayFile& f : files)
    arrays->files.emplace(f.input, NpyFile::open(f.path));
  bool has_rows = false;
  for (const BatchInput& input : inputs) {
    const auto it = arrays->files.find(input.name);
    if (it == arrays->files.end())
      throw Failure(Exit::spec, "data.arrays names no file for the input '" + input.name + "'");
    check_fits(it->second, input);
    has_rows = has_rows || input.batch >= 0;
  }
  const int64_t rows = common_rows(*arrays, inputs);
  const int64_t kept = validation_share(rows, validation);
  arrays->train = rows - kept;
  arrays->seed = seed;
  if (has_rows && rows == 0)
    throw Failure(Exit::bad_input, files[0].path + ": expected at least one row, found none");
  ExampleSource source;
  source.train_examples = arrays->train;
  source.validation_examples = kept;
  source.read = [arrays](const auto& input, const auto& example, const Box& box, auto out) {
    read_example(*arrays, input, example, box, out);
  };
  source.check_range = [arrays](const BatchInput& input, int64_t low, int64_t high) {
    check_values(arrays->files.at(input.name), input.dtype, low, high);
  };
  return Dataset(std::move(inputs), std::move(source));
}

}  // namespace mtf
