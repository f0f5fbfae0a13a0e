// extends and --set: what merges, what is replaced whole, whose place a value has.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "reading.h"

using namespace mtf;

namespace {

const char* const base =
    "mtf: 1\nname: base\nmodel: {use: a, with: {x: 1}}\n"
    "dims: {batch: 8, n: 4}\nmesh: {data: 2, model: 2}\nlayout: {batch: data, n: model}\n"
    "data: {text: t/*.txt, validation: 0.1}\n"
    "train:\n  steps: 10\n  optimizer: {adamw: {learning_rate: 0.1, weight_decay: 0.5}}\n  seed: "
    "7\n";

Reading extended(const std::string& text, const std::vector<std::string>& sets = {}) {
  write_file("base.yaml", base);
  return read_path(write_file("child.yaml", text), sets);
}

}  // namespace

TEST_CASE("Maps merge; choices, lists, mesh and layout are replaced whole; null removes") {
  Reading r = extended(
      "extends: base.yaml\nname: child\nmodel: {steps: []}\ndims: {n: 6, k: 2}\nmesh: {all: 4}\n"
      "layout: {batch: all}\ntrain: {steps: 20, optimizer: {sgd: {learning_rate: 1}}, seed: "
      "null}\n");
  INFO(r.text());
  REQUIRE(r.diagnostics.all().empty());
  const Spec& s = r.spec;
  CHECK(s.name == "child");
  CHECK(s.model.find("use") == nullptr);
  REQUIRE(s.dims.size() == 3);
  CHECK(s.dims[0].size == "8");
  CHECK(s.dims[1].size == "6");
  CHECK(s.dims[2].name == "k");
  CHECK(s.mesh.to_string() == "all=4");
  REQUIRE(s.layout.rules.size() == 1);
  CHECK(s.train->steps == 20);
  CHECK(s.train->optimizer.kind == Optimizer::Kind::sgd);
  CHECK(s.train->seed == 1);  // the default
  CHECK(s.data->validation == 0.1);
  CHECK(r.sources[s.dims[0].span.file].name == test_folder() + "/base.yaml");
  CHECK(r.sources[s.dims[1].span.file].name == test_folder() + "/child.yaml");
}

TEST_CASE("Input paths are relative to the file that wrote them") {
  write_file("sub/inner.yaml", base);
  Reading r = read_path(write_file("outer.yaml", "extends: sub/inner.yaml\nhardware: ./w\n"));
  INFO(r.text());
  REQUIRE_FALSE(r.diagnostics.has_errors());
  CHECK(r.spec.data->text[0] == test_folder() + "/sub/t/*.txt");
  CHECK(r.spec.hardware == test_folder() + "/w");
  Reading set = read_path(test_folder() + "/outer.yaml", {"hardware=./v"});
  CHECK(set.spec.hardware == "./v");  // the working directory
}

TEST_CASE("Chains of extends that lead nowhere") {
  write_file("one.yaml", "extends: two.yaml\n");
  write_file("two.yaml", "\nextends: three.yaml\n");
  write_file("three.yaml", "extends: one.yaml\n");
  Reading ring = read_path(test_folder() + "/one.yaml");
  REQUIRE(ring.diagnostics.all().size() == 1);
  const Diagnostic& d = ring.diagnostics.all()[0];
  CHECK(d.code == Code::spec_extends);
  CHECK(d.message == "'" + test_folder() + "/one.yaml' extends itself");
  CHECK(ring.sources[d.where.file].name == test_folder() + "/three.yaml");
  REQUIRE(d.notes.size() == 2);
  CHECK(Reading::at(d.notes[0].first) == "2:10");
  CHECK(Reading::at(d.notes[1].first) == "1:10");

  Reading lost = read_path(write_file("lost.yaml", "extends: nowhere.yaml\n"));
  REQUIRE(lost.diagnostics.all().size() == 1);
  CHECK(lost.diagnostics.all()[0].message ==
        "cannot read '" + test_folder() + "/nowhere.yaml': No such file or directory");
  CHECK_THROWS_AS(read_path(test_folder() + "/nowhere.yaml"), Failure);
  CHECK_THROWS_AS(read_path(test_folder()), Failure);
  CHECK(read_path(write_file("list.yaml", "extends: [a]\n")).diagnostics.all().size() == 1);
}

TEST_CASE("Overrides replace the node they name") {
  Reading r = extended(
      base, {"train.steps=99", "train.optimizer.adamw.weight_decay=0", "mesh.model=4",
             "train.checkpoint.every=5", "dims.n=2*batch", "model.with.x=3", "train.seed=null"});
  INFO(r.text());
  REQUIRE(r.diagnostics.all().empty());
  CHECK(r.spec.train->steps == 99);
  CHECK(r.spec.train->optimizer.learning_rate.peak == 0.1);
  CHECK(r.spec.train->optimizer.weight_decay == 0);
  CHECK(r.spec.mesh.to_string() == "data=2, model=4");
  CHECK(r.spec.train->checkpoint.every == 5);
  CHECK(r.spec.dims[1].size == "2*batch");
  CHECK(r.spec.model.find("with")->find("x")->text == "3");
  CHECK(r.spec.train->seed == 1);
  SourceSpan steps = r.spec.span("train.steps");
  CHECK(r.sources[steps.file].name == "command line, argument 3");
  CHECK(Reading::at(steps) == "1:13");

  Reading whole = extended(base, {"mesh={all: 4}", "layout={batch: all}"});
  REQUIRE(whole.diagnostics.all().empty());
  CHECK(whole.spec.mesh.to_string() == "all=4");
  CHECK(whole.spec.layout.rules.size() == 1);
}

TEST_CASE("Overrides of one layout rule") {
  Reading r =
      extended(base, {"layout.n=\"model?\"", "layout.k=model?", "layout.limits.gather=1KiB"});
  INFO(r.text());
  REQUIRE(r.diagnostics.all().empty());
  const LayoutRules& layout = r.spec.layout;
  REQUIRE(layout.rules.size() == 3);
  CHECK(layout.rules[0].dim == "batch");
  CHECK(layout.rules[1].dim == "n");
  CHECK(layout.rules[1].axes[0].soft);
  CHECK(layout.rules[2].dim == "k");
  CHECK(layout.gather_limit == 1024);
  CHECK(r.sources[layout.rules[2].span.file].name == "command line, argument 4");

  Reading removed = extended(base, {"layout.n=null"});
  CHECK(removed.spec.layout.rules.size() == 1);
  CHECK_FALSE(removed.diagnostics.has_errors());
  Reading list =
      read_lines("mesh: {a: 2, b: 2}\nlayout: [{x: a}, {y: b}, {x: b}]\n", {"layout.x=[a, b]"});
  REQUIRE(list.spec.layout.rules.size() == 2);  // one rule in the place of the two
  CHECK(list.spec.layout.rules[0].axes.size() == 2);
  Reading fresh = read_lines("mesh: {a: 2}\n", {"layout.x=a"});
  CHECK(fresh.spec.layout.rules.size() == 1);
}

TEST_CASE("Overrides that cannot be") {
  auto first = [](const std::string& set) {
    Reading r = extended(base, {set});
    REQUIRE(r.diagnostics.all().size() == 1);
    const Diagnostic& d = r.diagnostics.all()[0];
    CHECK(r.sources[d.where.file].name == "command line, argument 3");
    return std::string(id_of(d.code)) + " " + std::to_string(d.where.column) + " " + d.message;
  };
  CHECK(first("train.steps") == "spec.type 1 expected KEY=VALUE, such as train.steps=10");
  CHECK(first("train..steps=1") ==
        "spec.type 7 expected keys with dots between them, such as train.steps");
  CHECK(first("train.steps.x=1") == "spec.type 13 'steps' is the number 10 here; it has no 'x'");
  CHECK(first("train.steps={a: ") ==
        "yaml.unsupported 13 a list or map cannot be a key; is its closing bracket missing?");
  CHECK(first("trian.steps=10") == "spec.unknown-key 1 the spec has no key 'trian'");
  CHECK(first("train.stepz=10") == "spec.unknown-key 7 train has no key 'stepz'");
  CHECK(first("train.steps=ten") ==
        "spec.type 13 'steps' must be an integer, at least 1, not 'ten'");
  CHECK(first("layout.n=modle") == "layout.unknown-axis 10 the mesh has no axis 'modle'");
}
