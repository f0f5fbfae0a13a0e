// Whole plans as text, as `mtf plan` prints them, against tests/golden. MTF_UPDATE=1 rewrites the
// files; the difference is then what there is to review.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "plan/make_plan.h"
#include "report/plan_report.h"

namespace mtf {
namespace {

struct Golden {
  std::string file, spec;
  std::vector<std::string> sets;
  bool program = false;  // the instructions too
  Job job = Job::train;
};

const std::vector<std::string> gpt3 = {"mesh.stage=1", "storage=null", "schedule=null",
                                       "budget=null"};

const std::vector<Golden> goldens = {
    {"two_layer",
     "specs/two_layer.yaml",
     {"mesh={rows: 2, cols: 2}", "layout={io: rows, hidden: cols}"},
     true},
    {"digits_mlp", "specs/digits_mlp.yaml", {}, true},
    {"lm_bytes", "specs/lm_bytes.yaml", {}},
    {"lm_bytes_sequence", "specs/lm_bytes.yaml", {"layout.length=model?"}},
    {"lm_bytes_infer", "specs/lm_bytes.yaml", {}, false, Job::infer},
    {"lm_blocks",
     "specs/lm_blocks.yaml",
     {"mesh={model: 4}", "layout={heads: model, d_ff: model, vocab: model}"}},
    {"lm_paper_5b", "specs/lm_paper_5b.yaml", {"train.optimizer={adamw: {}}"}},
    {"gpt3_175b", "specs/gpt3_175b.yaml", gpt3},
};

std::string plan_as_text(const Golden& golden) {
  Sources sources;
  Diagnostics diagnostics;
  std::vector<Override> overrides;
  for (const std::string& text : golden.sets)
    overrides.push_back({text, 1});
  const Spec spec = read_spec(sources, golden.spec, overrides, diagnostics);
  const std::optional<Plan> plan = make_plan(spec, sources, golden.job, diagnostics);
  REQUIRE(plan);
  std::string out;
  if (golden.program)
    for (const PlannedProgram& p : plan->programs)
      out += print(p.program) + "\n";
  return out + as_text(report(*plan, sources, spec.name, 1));
}

TEST_CASE("plans are as they were reviewed") {
  for (const Golden& golden : goldens) {
    const std::string path = "tests/golden/" + golden.file + ".txt";
    const std::string text = plan_as_text(golden);
    if (std::getenv("MTF_UPDATE"))
      std::ofstream(path) << text;
    std::ostringstream expected;
    expected << std::ifstream(path).rdbuf();
    INFO("MTF_UPDATE=1 rewrites " << path);
    CHECK(text == expected.str());
  }
}

}  // namespace
}  // namespace mtf
