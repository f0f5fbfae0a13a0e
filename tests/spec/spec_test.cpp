// The structs of a spec: values, places, and what is refused.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "reading.h"

using namespace mtf;

namespace {

// One diagnostic as "id line:column".
std::vector<std::string> found(const Reading& r) {
  std::vector<std::string> out;
  for (const Diagnostic& d : r.diagnostics.all())
    out.push_back(std::string(id_of(d.code)) + " " + Reading::at(d.where));
  std::sort(out.begin(), out.end());
  return out;
}

using Found = std::vector<std::string>;

const std::string train = "train: {steps: 5, optimizer: {sgd: {learning_rate: 0.1}}}\n";
const std::string data = "data: {synthetic: {x: {normal: 1.0}}}\n";

}  // namespace

TEST_CASE("A whole spec has its values and defaults") {
  Reading r = read_path(std::string(MTF_SPECS) + "/lm_bytes.yaml");
  INFO(r.text());
  REQUIRE(r.diagnostics.all().empty());
  const Spec& s = r.spec;
  CHECK(s.buildable);
  CHECK(s.name == "lm-bytes");
  REQUIRE(s.dims.size() == 8);
  CHECK(s.dims[2].name == "d_model");
  CHECK(s.dims[2].size == "128");
  CHECK(s.mesh.to_string() == "data=2, model=2");
  REQUIRE(s.layout.rules.size() == 4);
  CHECK(s.layout.rules[1].dim == "heads");
  CHECK(s.layout.rules[1].axes[0].axis.index == 1);
  CHECK_FALSE(s.layout.rules[1].axes[0].soft);
  CHECK(Reading::at(s.layout.rules[1].span) == "7:5");
  CHECK(Reading::at(s.layout.rules[1].axes[0].span) == "7:12");
  CHECK(s.layout.gather_limit == INT64_MAX);
  REQUIRE(s.data);
  CHECK(s.data->kind == DataSpec::Kind::text);
  CHECK(s.data->text ==
        std::vector<std::string>{
            (std::filesystem::path(MTF_SPECS) / "data/text/*.txt").lexically_normal()});
  CHECK(s.data->tokenizer == "bytes");
  CHECK(s.data->validation == 0.05);
  CHECK(s.data->batch == "batch");
  REQUIRE(s.train);
  CHECK(s.train->steps == 300);
  CHECK(s.train->microbatches == 1);
  CHECK(s.train->accumulate == Accumulate::reduced);
  CHECK(s.train->optimizer.kind == Optimizer::Kind::adamw);
  CHECK(s.train->optimizer.learning_rate.peak == 3e-3);
  CHECK(s.train->optimizer.learning_rate.warmup == 30);
  CHECK(s.train->optimizer.learning_rate.decay == LearningRate::Decay::cosine);
  CHECK(s.train->optimizer.learning_rate.final == 0.1);
  CHECK(s.train->optimizer.weight_decay == 0.1);
  CHECK(s.train->optimizer.betas == std::array<double, 2>{0.9, 0.999});
  CHECK(s.train->optimizer.epsilon == 1e-8);
  CHECK(s.train->clip_global_norm == 1.0);
  CHECK(s.train->checkpoint.directory == "runs/lm-bytes");
  CHECK(s.train->checkpoint.every == 100);
  CHECK(s.train->seed == 1);
  CHECK(s.infer.max_tokens == 100);
  CHECK(s.infer.temperature == 0.8);
  CHECK(s.infer.mesh.to_string() == "data=2, model=2");
  CHECK(s.infer.layout.rules.size() == 4);
  CHECK(s.infer.dims.size() == 8);
  CHECK(s.numerics.compute == DType::f32);
  CHECK(s.numerics.exact == Exact::where_possible);
  CHECK(s.numerics.blocks.usual == 8);
  CHECK_FALSE(s.memory_budget);
  CHECK(Reading::at(s.span("train.checkpoint.keep")) == "17:60");
  CHECK(Reading::at(s.span("train.nothing.at.all")) == "13:3");
  CHECK(s.model.find("use")->text == "transformer_lm");
}

TEST_CASE("Every other key has its value") {
  Reading r = read_lines(
      "name: x.y-1\n"
      "dims: {batch: 8, n: 4}\n"
      "mesh: {pod: 2, data: 2, one: 1, cp: 2}\n"
      "layout:\n"
      "  rules: [{batch: [pod, data]}, {n: [cp, \"data?\"]}, {m: one}]\n"
      "  tensors: {\"**/table\": {n: cp}}\n"
      "  limits: {gather: 1.5KiB}\n"
      "data: {arrays: {x: a.npy, y: /b.npy}, validation: 0.2, batch: n}\n"
      "train:\n"
      "  steps: 10\n"
      "  microbatches: 2\n"
      "  accumulate: blocks\n"
      "  optimizer: {momentum: {learning_rate: 1e-2, momentum: 0.5}}\n"
      "  freeze: [table]\n"
      "  log_every: 1\n"
      "infer: {mesh: {data: 2}, layout: {batch: data}, dims: {batch: 2, extra: n}, top_k: 3}\n"
      "numerics: {compute: bf16, exact: fast, blocks: {n: 4}}\n"
      "budget: {memory: 2GiB}\n"
      "hardware: laptop\n");
  INFO(r.text());
  REQUIRE(r.diagnostics.all().empty());
  const Spec& s = r.spec;
  CHECK(s.name == "x.y-1");
  CHECK(s.mesh.to_string() == "pod=2, data=2, cp=2");  // the axis of size 1 is dropped
  REQUIRE(s.layout.rules.size() == 3);
  CHECK(s.layout.rules[2].axes.empty());  // of the rule that named only it the dim is left
  REQUIRE(s.layout.rules[0].axes.size() == 2);
  CHECK(s.layout.rules[0].axes[1].axis.index == 1);
  CHECK(s.layout.rules[1].axes[1].soft);
  REQUIRE(s.layout.tensors.size() == 1);
  CHECK(s.layout.tensors[0].first == "**/table");
  CHECK(s.layout.tensors[0].second[0].axes[0].axis.index == 2);
  CHECK(s.layout.gather_limit == 1536);
  REQUIRE(s.data->arrays.size() == 2);
  CHECK(s.data->arrays[0].name == "x");
  CHECK(s.data->arrays[0].path == test_folder() + "/a.npy");
  CHECK(s.data->arrays[1].path == "/b.npy");
  CHECK(s.data->batch == "n");
  CHECK(s.train->accumulate == Accumulate::blocks);
  CHECK(s.train->optimizer.momentum == 0.5);
  CHECK(s.train->optimizer.learning_rate.peak == 0.01);
  CHECK(s.train->optimizer.learning_rate.decay == LearningRate::Decay::none);
  CHECK(s.train->freeze == std::vector<std::string>{"table"});
  CHECK(s.infer.mesh.to_string() == "data=2");
  REQUIRE(s.infer.layout.rules.size() == 1);
  CHECK(s.infer.layout.rules[0].axes[0].axis.index == 0);
  REQUIRE(s.infer.dims.size() == 3);
  CHECK(s.infer.dims[0].size == "2");
  CHECK(s.infer.dims[2].name == "extra");
  CHECK(s.numerics.compute == DType::bf16);
  CHECK(s.numerics.exact == Exact::fast);
  CHECK(s.numerics.blocks.of_dim.at("n").count == 4);
  CHECK(s.memory_budget == int64_t{2} << 30);
  CHECK(s.hardware == "laptop");
}

TEST_CASE("Synthetic inputs") {
  Reading r = read_lines(
      "dims: {vocab: 256}\ndata: {synthetic: {tokens: {uniform: vocab / 2}, x: {normal: 2}}}\n");
  INFO(r.text());
  REQUIRE(r.diagnostics.all().empty());
  CHECK(r.spec.data->synthetic[0].below == "vocab / 2");
  CHECK(r.spec.data->synthetic[1].kind == SyntheticInput::Kind::normal);
  CHECK(r.spec.data->synthetic[1].deviation == 2);
  CHECK(found(read_lines("data: {synthetic: {x: {uniform: vocab}}}\n")) ==
        Found{"dims.expression 3:33"});
}

TEST_CASE("bad_many.yaml: all mistakes in one go") {
  Reading r = read_path(std::string(MTF_SPECS) + "/bad_many.yaml");
  CHECK(found(r) == Found{"layout.unknown-axis 7:43", "spec.range 10:16", "spec.unknown-key 10:38",
                          "yaml.duplicate-key 10:68"});
  CHECK(r.find(Code::layout_unknown_axis)->help.text == "did you mean 'model'?");
  CHECK(r.find(Code::spec_unknown_key)->help.text == "did you mean 'learning_rate'?");
  CHECK(r.find(Code::spec_range)->message == "'steps' is -5; it must be at least 1");
  CHECK(r.spec.buildable);
}

TEST_CASE("Scalars have one spelling") {
  auto steps = [](const std::string& value) {
    return found(read_lines(
        data + "train:\n  optimizer: {sgd: {learning_rate: 0.1}}\n  steps: " + value + "\n"));
  };
  CHECK(steps("10").empty());
  for (const char* wrong :
       {"010", "0o10", "0b11", "0x1F", "1_000", "1,000", "12:30:45", "3.0", "1e3", "\"10\"", "'10'",
        "yes", "true", "ten", "[1]", "{a: 1}", ".inf", "+5", "5-"}) {
    INFO(wrong);
    CHECK(steps(wrong) == Found{"spec.type 6:10"});
  }
  for (const char* wrong : {"0", "-5", "9223372036854775808", "99999999999999999999"})
    CHECK(steps(wrong) == Found{"spec.range 6:10"});

  auto rate = [](const std::string& value) {
    return found(read_lines(
        data + "train:\n  steps: 1\n  optimizer: {sgd: {learning_rate: " + value + "}}\n"));
  };
  for (const char* right : {"1", "0.5", "1e-4", "1.0e-4", "1E+2", "0", ".5", "-0"})
    CHECK(rate(right).empty());
  for (const char* wrong :
       {".inf", ".nan", "inf", "nan", "010", "\"0.1\"", "yes", "1e", ".", "1."}) {
    INFO(wrong);
    CHECK(rate(wrong) == Found{"spec.type 6:36"});
  }
  for (const char* wrong : {"1e400", "-0.1"})
    CHECK(rate(wrong) == Found{"spec.range 6:36"});

  for (const char* wrong : {"12", "true", "[a]", "1.5"})
    CHECK(found(read_lines(std::string("hardware: ") + wrong + "\n")) == Found{"spec.type 3:11"});
  CHECK(found(read_lines("hardware: no\n")).empty());  // YAML 1.2: a string
  for (const char* wrong : {"2GB2", "-1GiB", "GiB", "2 gib", "\"2GiB\""})
    CHECK(found(read_lines(std::string("budget: {memory: ") + wrong + "}\n")) ==
          Found{"spec.type 3:18"});
  CHECK(read_lines("budget: {memory: 4096}\n").spec.memory_budget == 4096);
  CHECK(read_lines("budget: {memory: 3 MB}\n").spec.memory_budget == 3000000);
}

TEST_CASE("Keys that are unknown, missing or too many") {
  CHECK(found(read_lines("trian: 1\n")) == Found{"spec.unknown-key 3:1"});
  CHECK(read_lines("trian: 1\n").diagnostics.all()[0].help.text == "did you mean 'train'?");
  CHECK(read_lines("xyzzy: 1\n")
            .diagnostics.all()[0]
            .help.text.starts_with("its keys are mtf, name, dims"));
  CHECK(found(read_lines(data + "train: {steps: 1}\n")) == Found{"spec.missing-key 4:1"});
  CHECK(found(read_lines(data + "train: {steps: 1, optimizer: {}}\n")) ==
        Found{"spec.missing-key 4:19"});
  CHECK(found(read_lines(data + "train: {steps: 1, optimizer: {adma: {}}}\n")) ==
        Found{"spec.unknown-key 4:31"});
  CHECK(found(read_lines("data: {text: a.txt, arrays: {x: y.npy}}\n")) == Found{"spec.range 3:21"});
  CHECK(found(read_lines("data: {tokenizer: bytes}\n")) == Found{"spec.missing-key 3:1"});
  CHECK(found(read_lines(train)) == Found{"spec.missing-key 3:8"});
  CHECK(found(read_path(write_file("bare.yaml", "name: x\n"))) ==
        Found{"spec.missing-key 1:1", "spec.missing-key 1:1"});
  CHECK(found(read_path(write_file("two.yaml", "mtf: 2\nmodel: {steps: []}\n"))) ==
        Found{"spec.range 1:6"});
  CHECK(found(read_lines("numerics: {compute: f16, exact: bitwize, blocks: 12}\n")) ==
        Found{"spec.range 3:21", "spec.range 3:33", "spec.range 3:50"});
  CHECK(found(read_lines("name: a/b\n")) == Found{"spec.range 3:7"});
  CHECK(found(read_lines("dims: {9a: 1, b#: 2, \"c d\": 3}\n")) ==
        Found{"spec.range 3:15", "spec.range 3:22", "spec.range 3:8"});
  CHECK(found(read_lines("dims: [a]\nmesh: 4\nlayout: x\n")) ==
        Found{"spec.type 3:7", "spec.type 4:7", "spec.type 5:9"});
}

TEST_CASE("Features that come later are named as such") {
  Reading r = read_lines(
      "storage: {optimizer: data}\nschedule: {pipeline: 1f1b}\n"
      "layout: {rules: [], regions: {}, ops: {}}\ninfer: {beams: 4}\n" +
      data + "train: {steps: 1, optimizer: {lion: {learning_rate: 1}}}\n");
  CHECK(found(r) == Found{"spec.not-yet 3:1", "spec.not-yet 4:1", "spec.not-yet 5:21",
                          "spec.not-yet 5:34", "spec.not-yet 6:9", "spec.not-yet 8:31"});
  CHECK(found(read_lines("data: {pairs: {source: a}, tokenizer: spm.model}\n"
                         "infer: {on_full: shift, outputs: out}\n")) ==
        Found{"spec.not-yet 3:39", "spec.not-yet 3:8", "spec.not-yet 4:25", "spec.not-yet 4:9"});
  CHECK(found(read_lines("storage: null\nschedule: ~\n")).empty());
}

TEST_CASE("The layout is checked against the mesh") {
  CHECK(found(read_lines("mesh: {data: 2}\nlayout: {batch: data, heads: dat, n: \"modl?\"}\n")) ==
        Found{"layout.unknown-axis 4:30", "layout.unknown-axis 4:38"});
  CHECK(found(read_lines("mesh: {data: 2}\nlayout: [{batch: [data, data]}, x, {n: {}}]\n")) ==
        Found{"spec.range 4:25", "spec.type 4:33", "spec.type 4:40"});
  CHECK(found(read_lines("mesh: {data: 2, model: 2}\nlayout: {batch: data}\n")) ==
        Found{"mesh.axis-unused 3:24"});
  CHECK(found(read_lines("mesh: {data: 0}\nlayout: {batch: data}\n")) == Found{"spec.range 3:14"});
  CHECK(found(read_lines("mesh: {a: 1048576, b: 2}\nlayout: {n: a, m: b}\n")) ==
        Found{"spec.range 3:20"});
  CHECK(found(read_lines("layout: {batch: data}\n")) == Found{"layout.unknown-axis 3:17"});
  // The outer layout is read again for a mesh of infer's own.
  Reading r = read_lines(
      "mesh: {data: 2, model: 4}\nlayout: {n: data, m: model}\n"
      "infer: {mesh: {model: 2, data: 1}}\n");
  CHECK(found(r).empty());
  REQUIRE(r.spec.infer.layout.rules.size() == 2);
  CHECK(r.spec.infer.layout.rules[0].axes.empty());
  CHECK(r.spec.infer.layout.rules[1].dim == "m");
  CHECK(r.spec.infer.layout.rules[1].axes[0].axis.index == 0);
}

TEST_CASE("Microbatches divide the batch") {
  auto with = [](const std::string& batch, int n) {
    return read_lines("dims: {" + batch + "}\n" + data + "train: {steps: 1, microbatches: " +
                      std::to_string(n) + ", optimizer: {sgd: {learning_rate: 1}}}\n");
  };
  CHECK(found(with("batch: 12", 4)).empty());
  Reading r = with("batch: 2 * b, b: 5", 4);
  CHECK(found(r) == Found{"train.microbatches 5:33"});
  CHECK(r.diagnostics.all()[0].message == "batch=10 is not divisible into 4 microbatches");
  CHECK(found(with("n: 12", 4)) == Found{"train.microbatches 5:33"});
}
