// What all kinds of data share: batch dims, masks, counts.
#include "io/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "io/convert.h"

namespace mtf {
namespace {

Box without_dim(const Box& box, size_t dim) {
  Box rest = box;
  rest.origin.erase(rest.origin.begin() + static_cast<std::ptrdiff_t>(dim));
  rest.size.erase(rest.size.begin() + static_cast<std::ptrdiff_t>(dim));
  return rest;
}

void fill(const BatchInput& input, std::span<std::byte> out) {
  const int64_t count = static_cast<int64_t>(out.size()) / size_of(input.dtype);
  for (int64_t i = 0; i < count; ++i) {
    if (is_float(input.dtype))
      store_float(input.dtype, out.data(), i, 0);
    else
      CHECK(store_integer(input.dtype, out.data(), i, input.absent), "absent value does not fit");
  }
}

}  // namespace

int64_t validation_share(int64_t examples, double validation) {
  CHECK(validation >= 0 && validation <= 1, "a share is from 0 to 1");
  return static_cast<int64_t>(std::floor(static_cast<double>(examples) * validation));
}

Dataset::Dataset(std::vector<BatchInput> inputs, ExampleSource source)
    : inputs_(std::move(inputs)), source_(std::move(source)) {
  for (const BatchInput& input : inputs_)
    if (input.batch >= 0)
      batch_ = input.size[static_cast<size_t>(input.batch)];
  for (const BatchInput& input : inputs_)
    CHECK(input.batch < 0 || input.size[static_cast<size_t>(input.batch)] == batch_,
          "one batch dim has two sizes");
}

int64_t Dataset::examples(Split split) const {
  return split == Split::train ? source_.train_examples : source_.validation_examples;
}

int64_t Dataset::steps_per_epoch() const {
  return (source_.train_examples + batch_ - 1) / batch_;
}

int64_t Dataset::validation_batches() const {
  return (source_.validation_examples + batch_ - 1) / batch_;
}

int64_t Dataset::valid_examples(Split split, int64_t step) const {
  if (split == Split::train)
    return batch_;
  return std::clamp<int64_t>(source_.validation_examples - step * batch_, 0, batch_);
}

const BatchInput& Dataset::find(std::string_view name) const {
  for (const BatchInput& input : inputs_)
    if (input.name == name)
      return input;
  CHECK(false, "no input " + std::string(name));
  return inputs_.front();
}

void Dataset::read(std::string_view name, Split split, int64_t step,
                   std::span<const int64_t> origin, std::span<const int64_t> size,
                   std::span<std::byte> out) const {
  const BatchInput& input = find(name);
  const Box box{{origin.begin(), origin.end()}, {size.begin(), size.end()}};
  CHECK(inside(box, input.size), "box outside input " + input.name);
  CHECK(static_cast<int64_t>(out.size()) == elements(size) * size_of(input.dtype),
        "wrong buffer size");
  if (input.batch < 0)
    return source_.read(input, {split, step, 0, batch_}, box, out);

  const size_t batch_dim = static_cast<size_t>(input.batch);
  const Box one = without_dim(box, batch_dim);
  const size_t bytes = static_cast<size_t>(elements(one.size) * size_of(input.dtype));
  std::vector<std::byte> buffer(batch_dim == 0 ? 0 : bytes);
  const int64_t valid = valid_examples(split, step);
  for (int64_t i = 0; i < size[batch_dim]; ++i) {
    const auto example =
        batch_dim == 0 ? out.subspan(static_cast<size_t>(i) * bytes, bytes) : std::span(buffer);
    if (origin[batch_dim] + i < valid)
      source_.read(input, {split, step, origin[batch_dim] + i, batch_}, one, example);
    else
      fill(input, example);
    if (batch_dim == 0)
      continue;
    std::vector<int64_t> at(size.size(), 0), extent(size.begin(), size.end());
    const std::vector<int64_t> zero(size.size(), 0);
    at[batch_dim] = i;
    extent[batch_dim] = 1;
    const int64_t unit = size_of(input.dtype);
    for_each_run({extent, zero}, {size, at}, extent, [&](int64_t from, int64_t to, int64_t count) {
      std::copy_n(example.data() + from * unit, count * unit, out.data() + to * unit);
    });
  }
}

void Dataset::check_range(std::string_view name, int64_t low, int64_t high) const {
  const BatchInput& input = find(name);
  CHECK(!is_float(input.dtype), "only integers have a range to check");
  source_.check_range(input, low, high);
}

}  // namespace mtf
