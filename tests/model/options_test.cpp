#include "model/options.h"

#include <catch2/catch.hpp>

#include "model/library.h"

using namespace mtf;

namespace {

YamlNode yaml(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  YamlNode node = parse_yaml(sources, sources.add("t", text), diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  return node;
}

std::string expanded_text(const std::string& body, const std::string& options) {
  Diagnostics diagnostics;
  YamlNode out = expanded(yaml(body), yaml(options), diagnostics);
  return diagnostics.has_errors() ? diagnostics.all()[0].message : print_yaml(out);
}

std::string same(const std::string& body) {
  return print_yaml(yaml(body));
}

}  // namespace

TEST_CASE("options stand for words, texts, keys, whole nodes and parts of lists") {
  CHECK(expanded_text("{a: $x}", "{x: 3}") == same("{a: 3}"));
  CHECK(expanded_text("{a: batch * length / $x}", "{x: 256}") == same("{a: batch * length / 256}"));
  CHECK(expanded_text("{$x: wide}", "{x: gelu}") == same("{gelu: wide}"));
  CHECK(expanded_text("{a: $m.top_k, b: $m}", "{m: {top_k: 2}}") == same("{a: 2, b: {top_k: 2}}"));
  CHECK(expanded_text("{a: [p, $x, q]}", "{x: [r, s]}") == same("{a: [p, r, s, q]}"));
  CHECK(expanded_text("{a: [p, $x]}", "{x: r}") == same("{a: [p, r]}"));
  CHECK(expanded_text("{a: [p, $x]}", "{x: []}") == same("{a: [p]}"));
  CHECK(expanded_text("{a: \"$x\"}", "{x: 3}") == same("{a: \"$x\"}"));
}

TEST_CASE("an option that is not declared is reported with the nearest one") {
  Diagnostics d;
  expanded(yaml("{a: [$actvation]}"), yaml("{activation: gelu}"), d);
  REQUIRE(d.all().size() == 1);
  CHECK(d.all()[0].message == "no option 'actvation' is declared in `with:` here");
  CHECK(d.all()[0].where.column == 6);
  CHECK(d.all()[0].help.text == "did you mean '$activation'?");
}

TEST_CASE("given options lie over the defaults, maps by key") {
  Diagnostics d;
  YamlNode defaults = yaml("{norm: rms, moe: {top_k: 2, group: 256}}");
  YamlNode given = yaml("{moe: {top_k: 1}, nrom: layer}");
  YamlNode merged = merged_options(&defaults, &given, "block 'b'", d);
  CHECK(print_yaml(merged) == same("{norm: layer, moe: {top_k: 1, group: 256}}"));
  REQUIRE(d.all().size() == 1);
  CHECK(d.all()[0].message == "block 'b' has no option 'nrom'");
  CHECK(d.all()[0].help.text == "did you mean 'norm'?");
}

TEST_CASE("the library is embedded") {
  CHECK(library_names() == std::vector<std::string>{"dense_feed_forward", "gated_feed_forward",
                                                    "grouped_query_attention", "mlp_classifier",
                                                    "multi_head_attention", "transformer_lm"});
  REQUIRE(library_text("transformer_lm"));
  CHECK(library_text("transformer_lm")->find("positions: learned") != std::string_view::npos);
  CHECK_FALSE(library_text("transformer"));
}
