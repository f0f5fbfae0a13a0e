// Bad models: what is reported, where, and that one mistake gives one message.
#include <catch2/catch.hpp>

#include "building.h"

using namespace mtf;

namespace {

// A model of inputs x, y [batch, d] with these steps, which begin on line 9, column 5.
Built with_steps(const std::string& steps, const std::string& blocks = "") {
  return build_text(
      "mtf: 1\nname: t\nmesh: {}\ndims: {batch: 4, d: 8, n: 2}\nmodel:\n"
      "  inputs: {x: {dims: [batch, d]}, y: {dims: [batch, d]}}\n"
      "  params: {w: {dims: [d, n]}}\n  steps:\n" +
      steps + "  outputs: {z: z}\n" + blocks);
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("an unknown op is reported with the nearest; what uses its result is not") {
  Built b = with_steps(
      "    - a: {einsun: [x, w]}\n"
      "    - b: {relu: a}\n"
      "    - z: {add: [b, x]}\n");
  INFO(b.text());
  CHECK_FALSE(b.model);
  CHECK(b.found() == Found{"model.unknown-name 9:11"});
  CHECK(b.diagnostics.all()[0].help.text == "did you mean 'einsum'?");
}

TEST_CASE("independent mistakes are reported in one go") {
  Built b = with_steps(
      "    - a: {einsum: [x, v]}\n"
      "    - c: {rms_norm: x, ovr: d}\n"
      "    - e: {rms_norm: x, over: dd}\n"
      "    - f: {add: x, relu: y}\n"
      "    - [x, w]\n"
      "    - x: {relu: x}\n"
      "    - z: {relu: x}\n");
  INFO(b.text());
  CHECK(b.found() == Found{"model.unknown-name 9:23", "model.attribute 10:24",
                           "dims.expression 11:30", "model.attribute 12:19", "model.step 13:7",
                           "model.duplicate-name 14:7"});
}

TEST_CASE("shapes are shown with names and sizes") {
  Built b = with_steps("    - z: {mean_squared_error: [x, w]}\n");
  INFO(b.text());
  REQUIRE(b.found() == Found{"model.shape 9:11"});
  CHECK(b.diagnostics.all()[0].message.find("[batch=4, d=8]") != std::string::npos);
  CHECK(b.diagnostics.all()[0].message.find("[d=8, n=2]") != std::string::npos);
}

TEST_CASE("a tensor has each dim once") {
  Built b = with_steps("    - z: {rename: x, dims: {batch: d}}\n");
  INFO(b.text());
  CHECK_FALSE(b.model);
  Built c = with_steps("    - z: {broadcast: x, to: [batch, d, n, n]}\n");
  INFO(c.text());
  REQUIRE(c.diagnostics.all().size() >= 1);
  CHECK(c.diagnostics.all()[0].message.find("'n' stands twice") != std::string::npos);
  Built e = with_steps("    - z: {reshape: x, from: [d, d], to: [n]}\n");
  INFO(e.text());
  CHECK_FALSE(e.model);
}

TEST_CASE("numbers at the end of 64 bits do not wrap") {
  Built b = with_steps("    - z: {pad: x, over: d, to: n, before: 9223372036854775807}\n");
  INFO(b.text());
  CHECK_FALSE(b.model);
  Built c = with_steps("    - z: {slice: x, over: d, to: n, start: 9223372036854775807}\n");
  INFO(c.text());
  CHECK_FALSE(c.model);
}

TEST_CASE("blocks: operands, options, own names, recursion, repeats of what is no block") {
  const std::string blocks = R"(  blocks:
    one: {takes: p, with: {act: relu}, steps: [{q: {$act: p}}], gives: q}
    loop: {takes: p, steps: [{q: {loop: p}}], gives: q}
    bad: {takes: p, steps: [{q: {relu: p}, r: {relu: p}}], gives: q}
    hidden: {takes: p, steps: [{q: {relu: x}}], gives: q}
)";
  auto found = [&](const std::string& step) {
    Built b = with_steps("    - z: " + step + "\n", blocks);
    INFO(b.text());
    REQUIRE(b.diagnostics.has_errors());
    return b.found()[0];
  };
  CHECK(found("{one: [x, y]}") == "model.step 9:16");
  CHECK(found("{one: x, with: {atc: gelu}}") == "model.unknown-name 9:26");
  CHECK(found("{one: x, over: d}") == "model.attribute 9:19");
  CHECK(found("{loop: x}") == "model.step 13:35");
  CHECK(found("{bad: x}") == "model.step 14:29");
  CHECK(found("{hidden: x}") == "model.unknown-name 15:43");
  CHECK(found("{repeat: relu, times: n, from: x}") == "model.step 9:19");
  CHECK(found("{repeat: one, times: m, from: x}") == "dims.expression 9:31");
  CHECK(found("{repeat: one, from: x}") == "spec.missing-key 9:11");
  CHECK(found("{one: x, with: {act: gleu}}") == "model.unknown-name 9:31");
}

TEST_CASE("a mistake in a repeated block is reported once") {
  Built b = with_steps("    - z: {repeat: b, times: n, from: x}\n",
                       "  blocks:\n    b: {takes: p, steps: [{q: {relu: r}}], gives: q}\n");
  INFO(b.text());
  CHECK(b.found() == Found{"model.unknown-name 12:38"});
}

TEST_CASE("a block may not hide an op or a library file") {
  Built b = with_steps("    - z: {relu: x}\n",
                       "  blocks:\n    relu: {takes: p, gives: p}\n"
                       "    transformer_lm: {takes: p, gives: p}\n");
  CHECK(b.found() == Found{"model.duplicate-name 12:5", "model.duplicate-name 13:5"});
}

TEST_CASE("library families: unknown names, options and cases are shown in the spec") {
  auto build = [](const std::string& model) {
    return build_text(
        "mtf: 1\nname: t\nmesh: {}\ndims: {batch: 2, length: 4, d_model: 8, heads: 2, "
        "d_head: 4, d_ff: 8, vocab: 16, layers: 2}\nmodel: " +
        model + "\n");
  };
  Built name = build("{use: transformer_ml}");
  CHECK(name.found() == Found{"model.unknown-name 5:14"});
  CHECK(name.diagnostics.all()[0].help.text == "did you mean 'transformer_lm'?");
  Built option = build("{use: transformer_lm, with: {nrom: rms}}");
  CHECK(option.found() == Found{"model.unknown-name 5:37"});
  Built value = build("{use: transformer_lm, with: {feed_forward: swigluu}}");
  CHECK(value.found() == Found{"model.unknown-name 5:51"});
  CHECK(value.diagnostics.all()[0].help.text == "did you mean 'swiglu'?");
  Built layer = build("{use: dense_feed_forward}");
  CHECK(layer.found() == Found{"model.step 5:8"});
  Built grouped = build("{use: transformer_lm, with: {attention: grouped_query}}");
  INFO(grouped.text());
  REQUIRE(grouped.diagnostics.has_errors());
  const Diagnostic& missing = grouped.diagnostics.all()[0];
  CHECK(missing.message.find("kv_heads") != std::string::npos);
  CHECK(grouped.sources[missing.where.file].name == "library:grouped_query_attention");
  REQUIRE(missing.notes.size() == 2);
  CHECK(missing.notes[0].second.ends_with(
      " and 8 more read what is wrong here and were not checked"));
  CHECK(missing.notes[1].first.line == 5);
}

TEST_CASE("what nothing uses is worth a warning, optional parameters of the library are not") {
  Built b = with_steps("    - a: {relu: x}\n    - z: {exp: x}\n");
  INFO(b.text());
  CHECK(b.model);
  CHECK(b.found() ==
        Found{"model.unused 9:7", "model.unused 7:12", "model.unused 6:35", "dims.unused 4:24"});
  Built block = with_steps("    - a: {einsum: [x, w]}\n    - z: {exp: a}\n",
                           "  blocks:\n    b: {takes: p, gives: p}\n");
  CHECK(block.found() == Found{"model.unused 6:35", "model.unused 13:5"});
  Built bad = build_file("bad_axis_twice.yaml");
  REQUIRE(bad.model);
  REQUIRE(bad.found().size() == 1);
  CHECK(bad.found()[0].starts_with("dims.unused"));
  CHECK(bad.diagnostics.all()[0].message == "nothing uses dim 'spare'");
}

TEST_CASE("bad_many: the model itself builds") {
  Built b = build_file("bad_many.yaml");
  for (const Diagnostic& d : b.diagnostics.all())
    CHECK_FALSE(id_of(d.code).starts_with("model."));
}

TEST_CASE("inputs and parameters: unknown keys, dtypes and initial values") {
  Built b = build_text(
      "mtf: 1\nname: t\nmesh: {}\ndims: {batch: 4, d: 8}\nmodel:\n"
      "  inputs: {x: {dims: [batch, d], type: i32}, y: {dims: [d], dtype: i33}}\n"
      "  params: {w: {dims: [d], init: {nromal: 1}}, v: {dims: d, initial: 1}}\n"
      "  steps: [{a: {multiply: [x, w]}}, {z: {multiply: [a, v]}}]\n"
      "  outputs: {z: z, y: y}\n");
  INFO(b.text());
  CHECK(b.found() == Found{"spec.unknown-key 6:34", "spec.type 6:68", "spec.unknown-key 7:60",
                           "spec.type 7:33"});
}

TEST_CASE("the shipped specs of later versions say what they wait for, and nothing else") {
  auto found = [](const std::string& file) {
    Built b = build_file(file);
    INFO(b.text());
    return b.found();
  };
  CHECK(found("moe_lm.yaml") == Found{"spec.not-yet 8:96"});
  CHECK(found("heat3d.yaml") == Found{"spec.not-yet 21:9", "spec.not-yet 13:15"});
  CHECK(found("unet3d.yaml") == Found{"spec.not-yet 6:14"});
  CHECK(found("digits_conv.yaml") == Found{"spec.not-yet 6:14"});
  CHECK(found("gpt3_175b.yaml") == Found{"spec.not-yet 12:1", "spec.not-yet 13:1"});
  for (const std::string& d : found("translate.yaml"))
    CHECK(d.starts_with("spec.not-yet"));
  Built value = build_file("lm_bytes.yaml", {"model.with.feed_forward=moe"});
  CHECK(value.diagnostics.all()[0].message ==
        "'moe' belongs to the language, but this version of mtf does not have it yet");
}

TEST_CASE("an output has a name that nothing of the driver's can have") {
  Built b = build_text(
      "mtf: 1\nname: t\ndims: {batch: 4}\nmodel:\n  inputs: {x: [batch]}\n"
      "  steps:\n    - y: {relu: x}\n  outputs: {'driver:step': y}\n");
  INFO(b.text());
  CHECK(b.found() == Found{"model.step 8:13"});
}
