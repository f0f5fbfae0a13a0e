// Layouts that are legal and wasteful: what is warned of, with numbers counted by hand, and what is
// not.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "planning.h"

using namespace mtf;

namespace {

std::vector<Diagnostic> style_of(const std::string& file, const std::vector<std::string>& overrides,
                                 Job job = Job::train) {
  std::vector<Diagnostic> out;
  const Planned planned = plan_file(file, overrides, job);
  REQUIRE(planned.messages.empty());
  for (const Diagnostic& d : planned.found)
    if (d.code == Code::layout_idle_axis || d.code == Code::layout_tiny_shards ||
        d.code == Code::layout_repeated_conversion)
      out.push_back(d);
  return out;
}

std::vector<std::string> ids(const std::vector<Diagnostic>& list) {
  std::vector<std::string> out;
  for (const Diagnostic& d : list)
    out.push_back(fmt::format("{} {}", id_of(d.code), d.where.line));
  return out;
}

bool mentions(const Diagnostic& d, const std::string& part) {
  return d.message.find(part) != std::string::npos;
}

using Ids = std::vector<std::string>;

// A layout of specs/lm_bytes.yaml where these weights of feed forward rest over data.
std::string weights(const std::vector<std::string>& names) {
  std::string tensors;
  for (const std::string& name : names)
    tensors += fmt::format("\"layers[*]/mlp/{}\": {{d_model: data}}, ", name);
  return "layout={rules: [{batch: data}, {heads: model}, {d_ff: model}, {vocab: model}], tensors: "
         "{" +
         tensors + "}}";
}

}  // namespace

TEST_CASE("a product that leaves an axis idle: its FLOPs, their share, and what could be split") {
  const Planned planned = plan_file("tests/bad/idle_axis.yaml", {});
  REQUIRE(planned.plan);
  REQUIRE(planned.found.size() == 1);
  const Diagnostic& d = planned.found[0];
  double all = 0;
  for (const PlannedProgram& p : planned.plan->programs)
    for (const Instruction& i : p.program.code)
      all += p.program.name == "init" ? 0 : i.flops;
  // y, dh and dv: three products of 2 * 64 * 64 * 16.
  const double idle = 3 * 2. * 64 * 64 * 16;
  CHECK(mentions(d, fmt::format("its 4 ranks each do the same {:.3g} FLOPs a step, {:.0f} % of",
                                idle, 100 * idle / all)));
  CHECK(d.where.line == 6);
  REQUIRE(d.notes.size() == 1);
  CHECK(d.notes[0].first.line == 12);
  CHECK(d.help.text ==
        "batch=64, hidden=64 and d_out=16 could be split by 4 here; for example `batch: all?`");
  CHECK(style_of("tests/bad/idle_axis.yaml", {"layout.batch=all?"}).empty());
  // With 2 * 64 * 8192 * 64 of h, twice, on a device y is not heavy beside it.
  CHECK(style_of("tests/bad/idle_axis.yaml", {"dims.d_in=32768"}).empty());
}

TEST_CASE("an axis idle in a repeat is found once a line, and one without any rule elsewhere") {
  const std::vector<Diagnostic> found =
      style_of("specs/lm_blocks.yaml", {"layout=[{batch: data}, {heads: model}, {vocab: model}]"});
  CHECK(found.size() == 2);
  for (const Diagnostic& d : found)
    CHECK(mentions(d, "layers[*]/mlp/"));
  CHECK(style_of("specs/lm_blocks.yaml", {"layout={batch: data}"}).empty());
}

TEST_CASE("a gather in every copy of a repeat: bytes, both places, and three ways out") {
  const std::string file = "tests/bad/repeated_conversion.yaml";
  const std::vector<Diagnostic> found = style_of(file, {});
  CHECK(ids(found) == Ids{"layout.idle-axis 8", "layout.repeated-conversion 8"});
  const Diagnostic& d = found[1];
  // Each layer sends its [64, 4, 16] of f32 to three others.
  CHECK(mentions(d, fmt::format("each of 4 copies gathers 'heads' of layers[*]/cut over 'model' "
                                "anew: {} bytes",
                                "196,608")));
  CHECK(4 * 3 * 64 * 4 * 16 * 4 == 196608);
  REQUIRE(d.notes.size() == 1);
  CHECK(d.notes[0].first.line == 17);
  CHECK(d.help.text ==
        "give 'heads' the axis too: `heads: model`; to have it so, make the rule soft: `d: "
        "\"model?\"`");
  CHECK(style_of(file, {"layout={d: model, heads: model}"}).empty());
  CHECK(ids(style_of(file, {"layout={d: 'model?'}"})) == Ids{"layout.idle-axis 1"});
  CHECK(ids(style_of(file, {"dims.layers=1"})) == Ids{"layout.idle-axis 8"});
}

TEST_CASE("a rule that an op cannot keep is converted away in every layer") {
  const std::vector<Diagnostic> found =
      style_of("specs/lm_bytes.yaml",
               {"layout=[{batch: data}, {d_head: model}, {d_ff: model}, {vocab: model}]",
                "model.with.positions=rope"});
  REQUIRE(ids(found) == Ids{"layout.repeated-conversion 1"});
  CHECK(mentions(found[0], "each of 4 copies gathers 'd_head' of layers[*]/attention/"));
  CHECK(found[0].help.text ==
        "split another dim over 'model'; to have it so, make the rule soft: `d_head: "
        "\"model?\"`");
}

TEST_CASE("two rules that disagree in every layer are both shown") {
  const std::vector<Diagnostic> found =
      style_of("tests/bad/repeated_conversion.yaml", {"layout={d: model, within: model}"});
  const auto exchange = std::find_if(found.begin(), found.end(), [](const Diagnostic& d) {
    return mentions(d, "exchanges 'heads' of layers[*]/cut");
  });
  REQUIRE(exchange != found.end());
  // A [64, 16, 16] of f32 over 4 ranks: three of four quarters of a quarter leave each, 4 times.
  CHECK(mentions(*exchange, "49,152 bytes"));
  CHECK(4 * 3 * 64 * 16 * 16 * 4 / 16 == 49152);
  REQUIRE(exchange->notes.size() == 2);
  CHECK(exchange->notes[0].second == "'model' splits 'within' here, in layers[*]/h");
}

TEST_CASE("a gather that only makes way for another is a part of its cost") {
  const std::vector<Diagnostic> found =
      style_of("tests/bad/repeated_conversion.yaml",
               {"mesh={a: 2, b: 2}", "layout=[{d: [a, b]}, {heads: b}]"});
  REQUIRE(ids(found) == Ids{"layout.idle-axis 1", "layout.repeated-conversion 1"});
  // heads over a and b: gathered over b, then over a, and cut over b again.
  CHECK(mentions(found[1], "gathers 'heads' of layers[*]/cut over 'a' anew: 196,608 bytes"));
  CHECK(4 * (64 * 4 * 16 + 64 * 8 * 16) * 4 == 196608);
  CHECK(found[1].help.text.ends_with("make the rule soft: `d: [\"a?\", b]`"));
}

TEST_CASE("an override that lets a value rest where neither its maker nor its readers have it") {
  const std::string file = "tests/bad/converted_to_rest.yaml";
  const std::vector<Diagnostic> found = style_of(file, {});
  REQUIRE(ids(found) == Ids{"layout.repeated-conversion 8"});
  const Diagnostic& d = found[0];
  // Each rank sends its [16, 512] of f32 to three others: the h of 4 layers, the gradients of 3, as
  // the first layer's needs none for x.
  CHECK(mentions(d,
                 "each of 4 copies converts layers[*]/h to rest as 'layers[*]/h' says, and "
                 "back: 688,128 bytes"));
  CHECK((4 + 3) * 3 * 16 * 512 * 4 == 688128);
  REQUIRE(d.notes.size() == 1);
  CHECK(d.notes[0].second ==
        "layers[*]/out reads it with 'batch' split over 'model', as it was made");
  CHECK(d.help.text == "leave the pattern 'layers[*]/h' out, or make it narrower");
  CHECK(style_of(file, {"dims.layers=1"}).empty());

  // Half of the axes: [16, 512] to one other.
  const std::string mesh = "mesh={a: 2, b: 2}", rules = "layout.rules=[{batch: [a, b]}]";
  const auto with = [&](const std::string& h) {
    return style_of(file, {mesh, rules, "layout.tensors={\"layers[*]/h\": " + h + "}"});
  };
  REQUIRE(ids(with("{batch: a}")) == Ids{"layout.repeated-conversion 1"});
  CHECK(mentions(with("{batch: a}")[0], " 229,376 bytes"));
  CHECK((4 + 3) * 16 * 512 * 4 == 229376);
  CHECK(with("{batch: a}")[0].help.text.ends_with("; to have it so, make its rules soft"));
  CHECK(with("{batch: \"a?\"}").empty());
  CHECK(with("{batch: [a, b]}").empty());
  // The other order: [16, 512], then [32, 512] to one other, there and back; backward reads h
  // again.
  REQUIRE(with("{batch: [b, a]}").size() == 1);
  CHECK(mentions(with("{batch: [b, a]}")[0], " 1,769,472 bytes"));
  CHECK((4 + 4 + 4 + 3 + 3) * (16 + 32) * 512 * 4 == 1769472);
}

TEST_CASE("the way there and the way back from a dim of an override, in forward and backward") {
  const std::string file = "tests/bad/converted_to_rest.yaml";
  const std::vector<Diagnostic> found =
      style_of(file, {"layout.tensors={\"layers[*]/h\": {hidden: model}}"});
  REQUIRE(ids(found) == Ids{"layout.repeated-conversion 1"});
  CHECK(mentions(found[0], "exchanges 'hidden' of layers[*]/h over 'model' anew: 442,368 bytes"));
  CHECK((4 + 4 + 4 + 3 + 3) * 3 * 16 * 512 == 442368);  // of 4 bytes, 4 pieces a rank
  CHECK(style_of(file, {"layout.tensors={\"layers[*]/h\": {hidden: \"model?\"}}"}).empty());
  // Computed in batch, the gradient of out rests over d; out itself is read once.
  const std::vector<Diagnostic> gradient =
      style_of(file, {"layout.tensors={\"layers[*]/out\": {d: model}}"});
  REQUIRE(gradient.size() == 1);
  CHECK(mentions(gradient[0], "'d' of the gradient of layers[*]/out over 'model' anew: 73,728 "));
  CHECK(gradient[0].notes[1].second == "layers[*]/out backward reads it");
  // A rule that splits gradients alone splits something.
  CHECK(plan_file(file, {"layout.tensors={\"layers[*]/out\": {d: model}}"}).found.size() == 1);
}

TEST_CASE("what soft rules, attention over split positions, sums and weights need is no finding") {
  const std::string lm = "specs/lm_bytes.yaml";
  CHECK(style_of(lm, {}).empty());
  CHECK(style_of(lm, {"layout.length=model?"}).empty());
  CHECK(style_of(lm, {"layout=[{batch: data}, {length: model}]"}).empty());
  CHECK(style_of(lm, {"numerics.compute=bf16", weights({"w1", "w2"})}).empty());
}

TEST_CASE("a pattern meant for weights that matches an activation too") {
  const std::vector<Diagnostic> found =
      style_of("specs/lm_bytes.yaml", {"numerics.compute=bf16", weights({"w*"})});
  REQUIRE(ids(found) == Ids{"layout.repeated-conversion 1"});
  // wide and its gradient in 4 copies: [8, 128, 256] over data, then [16, 128, 256] over model.
  CHECK(mentions(found[0],
                 "each of 4 copies converts layers[*]/mlp/wide to rest as 'layers[*]/mlp/w*' says, "
                 "and back: 12,582,912 bytes"));
  CHECK((4 + 4) * (8 + 16) * 128 * 256 * 2 == 12582912);
}

TEST_CASE("the shipped specs have no style warnings") {
  for (const char* file :
       {"specs/digits_mlp.yaml", "specs/lm_blocks.yaml", "specs/two_layer.yaml", "specs/w1.yaml"})
    CHECK(style_of(file, {}).empty());
  CHECK(style_of("specs/lm_paper_5b.yaml", {"train.optimizer={adamw: {}}"}).empty());
  CHECK(style_of("specs/gpt3_175b.yaml",
                 {"mesh.stage=1", "storage=null", "schedule=null", "budget=null"})
            .empty());
  CHECK(style_of("specs/llama_405b_long.yaml", {"mesh.stage=1", "storage=null", "schedule=null"})
            .empty());
}

TEST_CASE("a shard too small for a kernel") {
  const std::string file = "tests/bad/tiny_shards.yaml";
  const std::vector<Diagnostic> found = style_of(file, {});
  REQUIRE(ids(found) == Ids{"layout.tiny-shards 6"});
  CHECK(mentions(found[0], "'hidden'=32 split by 16 leaves a device 2 of the 32 columns of h"));
  CHECK(found[0].help.text == "split 'hidden' by at most 4, or another dim");
  CHECK(style_of(file, {"mesh.all=4"}).empty());
  CHECK(style_of(file, {"layout={d: all}"}).empty());
}

TEST_CASE("inference of one token leaves axes idle in silence") {
  const Planned planned =
      plan_file("specs/lm_bytes.yaml", {"layout=[{batch: data}, {vocab: model}]"}, Job::infer);
  REQUIRE(planned.plan);
  CHECK(planned.found.empty());
}

TEST_CASE("the loss of exactness by one rule is one warning") {
  const Planned planned =
      plan_file("specs/lm_blocks.yaml",
                {"mesh={data: 2, model: 16}", "layout=[{batch: data}, {d_ff: model}]"});
  REQUIRE(planned.plan);
  std::vector<Diagnostic> inexact;
  for (const Diagnostic& d : planned.found)
    if (d.code == Code::layout_inexact)
      inexact.push_back(d);
  REQUIRE(inexact.size() == 1);
  // In 4 copies: by w2, by the gradient of w1; the squares of w1 and w2 for the clip.
  REQUIRE(inexact[0].notes.size() == 2);
  CHECK(inexact[0].notes[1].second == "15 more sums are split in the same way");
  CHECK(
      inexact[0].help.text ==
      "cut it into 16 blocks, for equal bits on every mesh that splits 'd_ff' by at most 16: "
      "`blocks: {d_ff: 16}` in `numerics:`; or let the bits differ: `exact: fast` in `numerics:`");
}
