// Padded dims in models: sizes, who is padded like whom, and what is refused.
#include <catch2/catch.hpp>

#include "building.h"

using namespace mtf;

namespace {

// A model with one input over the dim `d`, and more dims.
Built with_dims(const std::string& dims, const std::string& steps) {
  return build_text("mtf: 1\nname: t\ndims: {batch: 4, " + dims +
                    "}\nmodel:\n  inputs: {x: [batch, d]}\n  steps:\n" + steps +
                    "  outputs: {y: y}\n");
}

std::string shown_output(const Built& b) {
  REQUIRE(b.model);
  const Graph& g = b.model->graph;
  return g.show(g[g.outputs[0].node].type.shape);
}

const std::string same_dims = "    - y: {exp: x}\n",
                  renamed = "    - y: {rename: x, dims: {d: e}}\n";

}  // namespace

TEST_CASE("a padded dim is stored at a multiple, and its true size is what expressions see") {
  CHECK(shown_output(with_dims("d: {size: 257, pad: 128}", same_dims)) == "[batch=4, d=257+127]");
  CHECK(shown_output(with_dims("d: {size: 256, pad: 128}", same_dims)) == "[batch=4, d=256]");
  CHECK(shown_output(with_dims("d: {size: e + 1, pad: 8}, e: {size: 9, pad: 4}", same_dims)) ==
        "[batch=4, d=10+6]");
}

TEST_CASE("a dim is padded as the dim that it is like, or that its size names, unless it says so") {
  const std::string d = "d: {size: 9, pad: 4}, ";
  CHECK(shown_output(with_dims(d + "e: d", renamed)) == "[batch=4, e=9+3]");
  CHECK(shown_output(with_dims(d + "e: {size: 9, like: d}", renamed)) == "[batch=4, e=9+3]");
  CHECK(shown_output(with_dims(d + "e: {size: d, pad: 12}", renamed)) == "[batch=4, e=9+3]");
  Built alone = with_dims(d + "e: {size: d, pad: 1}", renamed);
  REQUIRE(alone.diagnostics.all().size() == 1);
  CHECK(alone.diagnostics.all()[0].message == "rename: d=9+3 and e=9 differ in size");
}

TEST_CASE("microbatches divide the true size; each part is padded") {
  Built b = build_text(
      "mtf: 1\nname: t\ndims: {batch: {size: 10, pad: 4}, d: 2}\nmodel:\n"
      "  inputs: {x: [batch, d]}\n  steps:\n    - y: {exp: x}\n  outputs: {y: y}\n",
      {2, true});
  CHECK(shown_output(b) == "[batch=5+3, d=2]");
}

TEST_CASE("parameters are counted and scaled without padding") {
  Built plain = build_file("lm_bytes.yaml", {"dims.vocab=257", "dims.d_model=100"});
  Built padded = build_file(
      "lm_bytes.yaml", {"dims.vocab={size: 257, pad: 128}", "dims.d_model={size: 100, pad: 64}"});
  REQUIRE(plain.model);
  REQUIRE(padded.model);
  CHECK(parameter_count(*plain.model) == parameter_count(*padded.model));
  for (size_t i = 0; i < plain.model->parameters.size(); ++i)
    CHECK(plain.model->parameters[i].init.value == padded.model->parameters[i].init.value);
}

TEST_CASE("what cannot be padded names the dim and the op") {
  Built b = with_dims("d: {size: 6, pad: 4}, e: 3", "    - y: {slice: x, over: d, to: e}\n");
  REQUIRE(b.diagnostics.all().size() == 1);
  CHECK(b.diagnostics.all()[0].message ==
        "slice: elements cannot be moved along d=6+2, of which 2 are padding; leave out the `pad:` "
        "of 'd'");
  Built huge = with_dims("d: {size: 3, pad: 2000000000000}", same_dims);
  REQUIRE(huge.diagnostics.all().size() == 1);
  CHECK(huge.diagnostics.all()[0].message ==
        "'d'=3 rounded up to a multiple of 2000000000000 is more than 1,099,511,627,776");
  Built block = with_dims("d: 6",
                          "    - y: {b: x}\n  blocks:\n    b: {takes: p, gives: q, dims: "
                          "{e: {size: 2, pad: 0}}, steps: [{q: {exp: p}}]}\n");
  CHECK(block.found()[0].starts_with("spec.range"));
}
