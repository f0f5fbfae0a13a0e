// Unknown keys: what they are meant to be, and where they belong.
#include <catch2/catch.hpp>

#include "reading.h"

namespace {

// "message | help" of the unknown key, with the text of its edit if it has one.
std::string said(const std::string& lines, const std::vector<std::string>& sets = {}) {
  const Reading r = read_lines(lines, sets);
  const mtf::Diagnostic* d = r.find(mtf::Code::spec_unknown_key);
  if (d == nullptr)
    return r.text();
  std::string out = d->message + " | " + d->help.text;
  for (const mtf::Edit& edit : d->help.edits)
    out += " | " + Reading::at(edit.where) + " " + edit.text;
  return out;
}

const std::string train = "data: {text: a}\ntrain: {steps: 5, optimizer: {adamw: {}}}\n";

}  // namespace

TEST_CASE("a key at the wrong place: the places that the spec has") {
  CHECK(said(train + "learning_rate: 0.1") ==
        "the spec has no key 'learning_rate' | 'learning_rate' belongs in train.optimizer.adamw");
  CHECK(said("learning_rate: 0.1") ==
        "the spec has no key 'learning_rate' | 'learning_rate' belongs in train.optimizer.sgd, "
        "train.optimizer.momentum, train.optimizer.adam and train.optimizer.adamw");
  CHECK(said(train + "seed: 3") == "the spec has no key 'seed' | 'seed' belongs in train");
  CHECK(said("data: {text: a, mesh: {a: 2}}") ==
        "data has no key 'mesh' | 'mesh' belongs at the top of the spec");
  CHECK(said("loss: x") == "the spec has no key 'loss' | 'loss' belongs in model");
}

TEST_CASE("separators and slips") {
  CHECK(said("data: {text: a}\ntrain: {steps: 5, optimizer: {adamw: {learning-rate: 0.1}}}") ==
        "adamw has no key 'learning-rate' | did you mean 'learning_rate'? | 4:39 learning_rate");
  CHECK(said("data: {text: a}\ntrain: {steps: 5, logEvery: 3, optimizer: {adamw: {}}}") ==
        "train has no key 'logEvery' | did you mean 'log_every'? | 4:19 log_every");
  CHECK(said(train + "learning-rate: 0.1") ==
        "the spec has no key 'learning-rate' | 'learning_rate' belongs in train.optimizer.adamw");
  CHECK(said(train + "lerning_rate: 1") ==
        "the spec has no key 'lerning_rate' | did you mean 'learning_rate'? 'learning_rate' "
        "belongs in train.optimizer.adamw");
  CHECK(said("data: {text: a}\ntrain: {stepz: 5, optimizer: {adamw: {}}}") ==
        "train has no key 'stepz' | did you mean 'steps'? | 4:9 steps");
  CHECK(
      said("data: {text: a, zzz: 1}") ==
      "data has no key 'zzz' | its keys are text, arrays, synthetic, tokenizer, validation, batch "
      "and pairs");
}

TEST_CASE("words of neighbouring tools") {
  CHECK(said("data: {text: a}\ntrain: {steps: 5, optimizer: {adamw: {lr: 0.1}}}") ==
        "adamw has no key 'lr' | did you mean 'learning_rate'? | 4:39 learning_rate");
  CHECK(said(train + "lr: 0.1") ==
        "the spec has no key 'lr' | it is called 'learning_rate' here; 'learning_rate' belongs in "
        "train.optimizer.adamw");
  CHECK(said("data: {text: a}\ntrain: {epochs: 5, steps: 5, optimizer: {adamw: {}}}") ==
        "train has no key 'epochs' | it is called train.steps here");
  CHECK(said("batch_size: 8") == "the spec has no key 'batch_size' | it is called dims.batch here");
  // A second count of the devices, beside the mesh that says it.
  CHECK(said("mesh: {rows: 2, cols: 2}\ndevices: 2") ==
        "the spec has no key 'devices' | the ranks are those of `mesh`, which gives each axis its "
        "size: this mesh has 2 x 2 = 4 ranks");
  const std::string plain = "the ranks are those of `mesh`, which gives each axis its size";
  CHECK(
      said("mesh: {a: 4, b: 2, c: 3}\ngpus: 8").ends_with(": this mesh has 4 x 2 x 3 = 24 ranks"));
  CHECK(said("mesh: {a: 8}\ngpus: 8").ends_with(": this mesh has 8 ranks"));
  CHECK(said("mesh: {}\ngpus: 8").ends_with(": this mesh has 1 rank"));
  CHECK(said("gpus: 8").ends_with(plain));
  CHECK(said("mesh: {a: 4, b: two}\ngpus: 8").ends_with(plain));
  CHECK(said("mesh: {a: 99999999, b: 999999999}\ngpus: 8").ends_with(plain));
  CHECK(said("", {"lr=0.1"}).starts_with("the spec has no key 'lr' | it is called"));
}
