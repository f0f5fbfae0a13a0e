// Expressions over dims: values, and every way in which one has none.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "reading.h"
#include "spec/dims.h"

using namespace mtf;

namespace {

struct Evaluated {
  std::optional<int64_t> value;
  std::vector<Diagnostic> found;
};

// Over a = 12, b = 5, d_model = 64 and the options $group = 8, $factor = 1.25, $moe.top_k = 2,
// $dim = a.
Evaluated eval(const std::string& text) {
  Diagnostics diagnostics;
  DimTable table(diagnostics);
  for (auto [name, size] : {std::pair("a", "12"), {"b", "5"}, {"d_model", "64"}}) {
    DimSpec dim;
    dim.name = name;
    dim.size = size;
    table.add(dim);
  }
  DimTable::Options options = [&](std::string_view name, SourceSpan where) {
    std::map<std::string, std::string, std::less<>> values = {
        {"group", "8"}, {"factor", "1.25"}, {"moe.top_k", "2"}, {"dim", "a"}};
    auto found = values.find(name);
    if (found != values.end())
      return std::optional(found->second);
    diagnostics.add({Code::model_unknown_name, "no option", where, {}, {}});
    return std::optional<std::string>();
  };
  SourceSpan span{0, 3, 10, static_cast<int>(text.size())};
  Evaluated e;
  e.value = table.evaluate(text, span, options);
  e.found.assign(diagnostics.all().begin(), diagnostics.all().end());
  return e;
}

}  // namespace

TEST_CASE("Expressions have exact values") {
  std::vector<std::pair<std::string, int64_t>> cases = {
      {"7", 7},
      {"a", 12},
      {"a*b + 3", 63},
      {"a + b * 2", 22},
      {"(a + b) * 2", 34},
      {"a - 2 - 3", 7},
      {"a / 2 / 3", 2},
      {"-b + a", 7},
      {"ceil(a / b)", 3},
      {"ceil(a / 4)", 3},
      {"ceil(10 * 0.1)", 1},  // exact: 1, not 2
      {"ceil(3 * 1.1)", 4},
      {"ceil(a * $factor / b)", 3},  // 15 / 5
      {"ceil(ceil(a / b) / 2)", 2},
      {"2 * $group", 16},
      {"$moe.top_k * $dim", 24},
      {"d_model / $group", 8},
      {"1099511627776", int64_t{1} << 40},
  };
  for (const auto& [text, value] : cases) {
    INFO(text);
    Evaluated e = eval(text);
    REQUIRE(e.found.empty());
    CHECK(e.value == value);
  }
}

TEST_CASE("Expressions without a value say why and where") {
  struct Case {
    std::string text, message;
    int column;
    std::optional<int64_t> value = {};  // of what is meant
  };
  std::vector<Case> cases = {
      {"a / b", "12 is not divisible by 5", 12},
      {"a * b / 7", "60 is not divisible by 7", 16},
      {"a / (b - 5)", "12 is divided by 0", 12},
      {"b - 5", "'b - 5' is 0; a size is an integer from 1", 10},
      {"-3", "'-3' is -3", 10},
      {"a +", "the expression ends", 12},
      {"", "the expression ends", 10},
      {"(a", "this '(' is not closed", 10},
      {"a b", "expected + - * / or the end, not 'b'", 12},
      {"a % b", "not '%'", 12},
      {"a × b", "not '×'", 12},
      {"010", "'010' starts with a zero", 10},
      {"1_000", "'1_' is not how a number is written", 10},
      {"1,000", "'1,' is not how a number is written", 10},
      {"0x10", "'0x' is not how a number is written", 10},
      {"2.5", "'2.5' is not an integer", 10},
      {"1e3", "'1e' is not how", 10},
      {"a * $factor", "'1.25' is not an integer", 14},
      {"d_mdoel * 2", "there is no dim 'd_mdoel'", 10, 128},
      {"99999999999999999999", "too many digits", 10},
      {"1099511627777", "is 1099511627777; a size is", 10},
      {"9223372036854775807 * 3", "this product is too large", 30},
      {"((((((((((((((((((1))))))))))))))))))", "nested more than 16 deep", 26},
      {"$nothing", "no option", 10},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    Evaluated e = eval(c.text);
    CHECK(e.value == c.value);
    REQUIRE(e.found.size() == 1);
    INFO(e.found[0].message);
    CHECK(e.found[0].message.find(c.message) != std::string::npos);
    CHECK(e.found[0].where.line == 3);
    CHECK(e.found[0].where.column == c.column);
  }
  CHECK(eval("d_mdoel * 2").found[0].help.text == "did you mean 'd_model'?");
}

TEST_CASE("The dims of a spec refer to each other in any order") {
  Reading r =
      read_lines("dims: {d_head: d_model / heads, d_model: 60, heads: 6, d_ff: 4 * d_model}\n");
  REQUIRE_FALSE(r.diagnostics.has_errors());
  CHECK(r.spec.buildable);
  Diagnostics diagnostics;
  DimTable table(diagnostics, r.spec.dims);
  CHECK(table.size("d_head", {}) == 10);
  CHECK(table.size("d_ff", {}) == 240);
  CHECK(r.spec.dims[0].name == "d_head");
  CHECK(Reading::at(r.spec.dims[0].span) == "3:8");
  CHECK(Reading::at(r.spec.dims[0].size_span) == "3:16");
}

TEST_CASE("The first entry of a name wins in the table") {
  Diagnostics diagnostics;
  DimTable table(diagnostics);
  DimSpec own, standard;
  own.name = standard.name = "n";
  own.size = "3";
  standard.size = "$missing";
  table.add(own);
  table.add(standard);
  CHECK(table.size("n", {}) == 3);
  CHECK(diagnostics.all().empty());
}

TEST_CASE("Cycles, unknown dims and long chains of dims are reported once") {
  Reading cycle = read_lines("dims: {a: b, b: c + 1, c: a}\n");
  REQUIRE(cycle.diagnostics.all().size() == 1);
  CHECK(cycle.diagnostics.all()[0].message ==
        "these sizes depend on themselves: 'a' → 'b' → 'c' → 'a'");
  CHECK(Reading::at(cycle.diagnostics.all()[0].where) == "3:11");

  Reading unknown = read_lines("dims: {a: missing, b: a, c: a}\n");
  REQUIRE(unknown.diagnostics.all().size() == 1);
  CHECK(Reading::at(unknown.diagnostics.all()[0].where) == "3:11");

  std::string chain = "dims:\n  d0: 1\n";
  for (int i = 900; i > 0; --i)
    chain += "  d" + std::to_string(i) + ": d" + std::to_string(i - 1) + "\n";
  Reading deep = read_lines(chain);
  REQUIRE(deep.diagnostics.has_errors());
  CHECK(deep.diagnostics.all()[0].code == Code::dims_expression);
}

TEST_CASE("Long forms of dims") {
  Reading like = read_lines("dims: {depth: 8, half: {size: depth / 2, like: depth}}\n");
  REQUIRE_FALSE(like.diagnostics.has_errors());
  CHECK(like.spec.dims[1].like == "depth");
  CHECK(like.spec.dims[1].size == "depth / 2");

  Reading lost = read_lines("dims: {half: {size: 4, like: depth}}\n");
  REQUIRE(lost.diagnostics.all().size() == 1);
  CHECK(Reading::at(lost.diagnostics.all()[0].where) == "3:30");

  Reading ring = read_lines("dims: {a: {size: 4, like: b}, b: {size: 4, like: a}}\n");
  CHECK(ring.diagnostics.all().size() == 2);

  Reading pad = read_lines("dims: {vocab: {size: 50257, pad: 128}, d: 4}\n");
  REQUIRE_FALSE(pad.diagnostics.has_errors());
  CHECK(pad.spec.dims[0].pad == 128);
  CHECK_FALSE(pad.spec.dims[1].pad);
  Reading none = read_lines("dims: {vocab: {size: 50257, pad: 0}}\n");
  REQUIRE(none.diagnostics.all().size() == 1);
  CHECK(none.diagnostics.all()[0].code == Code::spec_range);
  CHECK(Reading::at(none.diagnostics.all()[0].where) == "3:34");
}
