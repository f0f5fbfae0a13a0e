// mtf config and mtf init: what they print reads as the spec that they printed.
#include <catch2/catch.hpp>

#include "planning.h"
#include "reading.h"
#include "report/resolved_spec.h"
#include "report/starter.h"

using namespace mtf;

TEST_CASE("config gives each value its file, argument or default") {
  write_file("data/x.npy", "");
  write_file("base.yaml",
             "mtf: 1\n"
             "model: {steps: []}\n"
             "data: {arrays: {x: data/x.npy}}\n"
             "train: {steps: 3, optimizer: {sgd: {learning_rate: 1.0e-2}}}\n");
  const std::string path = write_file("over/top.yaml",
                                      "extends: ../base.yaml\n"
                                      "train:\n"
                                      "  optimizer: {momentum: {learning_rate: 0.5}}\n");
  const Reading r = read_path(path, {"train.seed=9"});
  const std::string base = test_folder() + "/base.yaml", top = test_folder() + "/over/top.yaml";
  const std::string text = resolved_text(r.spec, r.sources);
  const auto holds = [&](const std::string& key, const std::string& origin) {
    INFO(text);
    const size_t line = text.find(key);
    REQUIRE(line != std::string::npos);
    const std::string rest = text.substr(line, text.find('\n', line) - line);
    CHECK(rest.substr(rest.find('#') + 2) == origin);
  };
  holds("mtf: 1", base + ":1");
  holds("  steps: 3", base + ":4");
  holds("      learning_rate: 0.5", top + ":3");
  holds("      momentum: 0.9", "default");
  holds("  seed: 9", "command line, argument 3");
  holds("    x: " + test_folder() + "/data/x.npy", base + ":3");
  CHECK(text.find("sgd") == std::string::npos);
  CHECK(text.find("extends") == std::string::npos);
}

TEST_CASE("config's output reads as the same spec") {
  for (const std::string name : {"two_layer", "digits_mlp", "lm_bytes", "lm_blocks"}) {
    INFO(name);
    const std::string path = "specs/" + name + ".yaml";
    const std::vector<std::string> sets = {"train.microbatches=2", "layout.batch=null"};
    const Reading r = read_path(path, sets);
    const std::string text = resolved_text(r.spec, r.sources);
    const Reading again = read_path(write_file("resolved.yaml", text));
    INFO(text << again.text());
    const TextFile file(text);
    const Planned first = plan_file(path, sets), second = plan_file(file.path(), {});
    REQUIRE(first.plan);
    REQUIRE(second.plan);
    CHECK(first.plan->digest == second.plan->digest);
    CHECK(print_yaml(again.spec.document).find("microbatches: 2") != std::string::npos);
  }
}

TEST_CASE("starters are valid without a warning and comment every key") {
  CHECK(starter_names() == std::vector<std::string>{"digits", "lm"});
  CHECK(!starter_text("gpt9", "x"));
  for (const std::string& name : starter_names()) {
    const std::string text = *starter_text(name, "mine");
    INFO(text);
    CHECK(text.find("name: mine ") != std::string::npos);
    CHECK(text.find("# microbatches: 1 ") != std::string::npos);
    CHECK(text.find("# parts of the batch computed in turn") != std::string::npos);
    Sources sources;
    Diagnostics diagnostics;
    const TextFile file(text);
    const Spec spec = read_spec(sources, file.path(), {}, diagnostics);
    CHECK(make_plan(spec, sources, natural_job(spec), diagnostics));
    CHECK(diagnostics.all().empty());
  }
}
