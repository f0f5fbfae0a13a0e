// Batches of examples. A batch is a function of (seed, step, global example index) alone: each rank
// reads only the boxes it needs, and which rank reads what changes nothing.
//
// A Dataset is one kind of source (arrays, synthetic; text is in text/text_data.h) and what all
// kinds share: the place of the batch dim, the masked last batch of a validation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/box.h"
#include "mesh/mesh.h"

namespace mtf {

enum class Split : uint8_t { train, validation };

// A model input as the model declares it.
struct BatchInput {
  std::string name;
  std::vector<std::string> dims;  // names, for messages
  std::vector<int64_t> size;      // global sizes for one whole step
  DType dtype = DType::f32;
  int batch = -1;  // position of the dim that counts examples; -1: none, the input is read whole
  int along = -1;  // position of the dim of time, where there is one
  // What integers are beyond the last example; -1 for labels (of i32), which a loss ignores.
  int64_t absent = 0;
};

// One example of one batch: number `index` of the `batch` examples of a step.
struct Example {
  Split split = Split::train;
  int64_t step = 0, index = 0, batch = 1;
  int64_t position() const { return step * batch + index; }  // in the whole stream
};

// Where examples come from.
struct ExampleSource {
  int64_t train_examples = 0, validation_examples = 0;  // train 0: there is no end
  // Fills a box of one example of an input: of its dims without the batch dim.
  std::function<void(const BatchInput&, const Example&, const Box&, std::span<std::byte> out)> read;
  // Failure if a value of an integer input is not in [low, high).
  std::function<void(const BatchInput&, int64_t low, int64_t high)> check_range;
};

class Dataset {
 public:
  // The inputs' batch dims have one size.
  Dataset(std::vector<BatchInput> inputs, ExampleSource source);

  int64_t batch() const { return batch_; }  // examples of a step
  int64_t examples(Split) const;
  int64_t steps_per_epoch() const;     // rounded up; 0 where there is no end
  int64_t validation_batches() const;  // rounded up
  // How many examples of this step's batch exist; the rest is masked (BatchInput::absent, and 0 for
  // floats). Always all of them in training.
  int64_t valid_examples(Split, int64_t step) const;

  // The box of the input, dense, in its declared dtype and order of dims.
  void read(std::string_view input, Split, int64_t step, std::span<const int64_t> origin,
            std::span<const int64_t> size, std::span<std::byte> out) const;

  // Reads every value of an integer input once. Failure, naming file, row, value and range, if one
  // is not in [low, high): Exit::bad_input for files, Exit::spec for made-up values.
  void check_range(std::string_view input, int64_t low, int64_t high) const;

 private:
  const BatchInput& find(std::string_view input) const;
  std::vector<BatchInput> inputs_;
  ExampleSource source_;
  int64_t batch_ = 1;
};

// Rows of .npy files: examples are the first dim of a file, the others are the input's dims but for
// the batch dim, in order. Inputs without a batch dim are read whole. Training visits all rows but
// the last `validation` share in an order that is random in each epoch; validation reads the rest
// in order. Failure(Exit::bad_input) naming files and shapes if they do not fit the inputs.
struct ArrayFile {
  std::string input, path;
};
Dataset array_dataset(std::vector<BatchInput> inputs, std::span<const ArrayFile> files,
                      double validation, uint64_t seed);

// Made-up values, each a function of (seed, step, input, global element index). An input `targets`
// without a rule is `tokens` shifted by one along BatchInput::along.
struct UniformIntegers {
  int64_t below;  // in [0, below)
};
struct NormalNumbers {
  double deviation;
};
struct ConstantNumber {
  double value;
};
struct SyntheticRule {
  std::string input;
  std::variant<UniformIntegers, NormalNumbers, ConstantNumber> rule;
};
Dataset synthetic_dataset(std::vector<BatchInput> inputs, std::vector<SyntheticRule> rules,
                          uint64_t seed);

// How many of `examples` are kept for validation.
int64_t validation_share(int64_t examples, double validation);

}  // namespace mtf
