// The YAML tree: spans of keys and values, and everything that is refused, each at its place.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "reading.h"
#include "spec/yaml.h"

using namespace mtf;

namespace {

struct Parsed {
  Sources sources;
  Diagnostics diagnostics;
  YamlNode root;
};

Parsed parse(const std::string& text) {
  Parsed p;
  int file = p.sources.add("a.yaml", text);
  p.root = parse_yaml(p.sources, file, p.diagnostics);
  return p;
}

std::string where(SourceSpan s) {
  return std::to_string(s.line) + ":" + std::to_string(s.column) + "+" + std::to_string(s.length);
}

}  // namespace

TEST_CASE("Keys and values have their places") {
  Parsed p = parse("one: 1\ntwo:\n  three: 'it''s'\n  four: [a, \"b c\", {d: e}]\nfive:\nsix: ~\n");
  REQUIRE_FALSE(p.diagnostics.has_errors());
  const auto& top = p.root.entries;
  REQUIRE(top.size() == 4);
  CHECK(top[0].first.text == "one");
  CHECK(where(top[0].first.span) == "1:1+3");
  CHECK(where(top[0].second.span) == "1:6+1");
  CHECK_FALSE(top[0].second.quoted);
  const YamlNode& two = top[1].second;
  CHECK(two.find("three")->text == "it's");
  CHECK(two.find("three")->quoted);
  CHECK(where(two.find("three")->span) == "3:10+7");
  const YamlNode& four = *two.find("four");
  REQUIRE(four.items.size() == 3);
  CHECK(where(four.span) == "4:9+1");
  CHECK(where(four.items[1].span) == "4:13+5");
  CHECK(where(four.items[2].entries[0].first.span) == "4:21+1");
  CHECK(where(four.items[2].entries[0].second.span) == "4:24+1");
  CHECK(top[2].second.is_null());
  CHECK(where(top[2].second.span) == "5:1+4");  // an absent value: its key
  CHECK(where(top[3].second.span) == "6:6+1");
  CHECK(p.root.find("seven") == nullptr);
}

TEST_CASE("Columns count code points, after a byte order mark too") {
  Parsed p = parse("ключ: {日本: x, b: y}\r\nc: z\r\n");
  REQUIRE_FALSE(p.diagnostics.has_errors());
  const YamlNode& map = p.root.entries[0].second;
  CHECK(where(p.root.entries[0].first.span) == "1:1+4");
  CHECK(where(map.entries[0].first.span) == "1:8+2");
  CHECK(where(map.find("b")->span) == "1:18+1");
  CHECK(where(p.root.entries[1].second.span) == "2:4+1");

  Parsed marked = parse(
      "\xef\xbb\xbf"
      "a: 1\nb: 2\n");
  REQUIRE_FALSE(marked.diagnostics.has_errors());
  CHECK(where(marked.root.find("a")->span) == "1:5+1");  // the mark is a code point of line 1
  CHECK(where(marked.root.find("b")->span) == "2:4+1");
}

TEST_CASE("What specs do not use is refused at its place") {
  struct Case {
    std::string text;
    Code code;
    std::string at;
  };
  std::string deep(40, '['), bell = "a: 1\nb: \a\n", nul = std::string("a: 1\nb: ") + '\0' + "\n";
  std::vector<Case> cases = {
      {"a: {b: 1", Code::yaml_syntax, "1:9"},
      {"a: [1, 2\nb: 3\n", Code::yaml_syntax, "1:4"},
      {"a: [1}\n", Code::yaml_syntax, "1:6"},
      {"a: \"x", Code::yaml_syntax, "1:6"},
      {"a: 'x\n", Code::yaml_syntax, "1:4"},
      {"a: b: c\n", Code::yaml_syntax, "1:5"},
      {"a: 1\n\tb: 2\n", Code::yaml_syntax, "2:1"},
      {"a: 1\n b: 2\n", Code::yaml_syntax, "2:2"},
      {"a: @x\n", Code::yaml_syntax, "1:4"},
      {"", Code::yaml_syntax, "1:1"},
      {"# nothing\n", Code::yaml_syntax, "1:1"},
      {"a:1\n", Code::yaml_syntax, "1:2"},
      {"- a\n- b\n", Code::yaml_syntax, "1:1"},
      {"a: 1\rb: 2\r", Code::yaml_syntax, "1:5"},
      {"a: 1\nb: \xff\n", Code::yaml_syntax, "2:4"},
      {"a: \xc0\x80\n", Code::yaml_syntax, "1:4"},
      {"a: \xed\xa0\x80\n", Code::yaml_syntax, "1:4"},
      {bell, Code::yaml_syntax, "2:4"},
      {nul, Code::yaml_syntax, "2:4"},
      {"a: 1\nb: 2\na: 3\n", Code::yaml_duplicate_key, "3:1"},
      {"a: {b: [{c: 1, d: 2, c: 3}]}\n", Code::yaml_duplicate_key, "1:22"},
      {"a: 1\n\"a\": 3\n", Code::yaml_duplicate_key, "2:1"},
      {"a: 1\n---\nb: 2\n", Code::yaml_unsupported, "3:1"},
      {"a: &x 1\n", Code::yaml_unsupported, "1:4"},
      {"a: &x [*x]\n", Code::yaml_unsupported, "1:4"},
      {"a: 1\n<<: {b: 2}\n", Code::yaml_unsupported, "2:1"},
      {"a: !!str 5\n", Code::yaml_unsupported, "1:4"},
      {"a: !mine {b: 1}\n", Code::yaml_unsupported, "1:4"},
      {"{[1, 2]: 3}\n", Code::yaml_unsupported, "1:2"},
      {"? {a: 1}\n: 3\n", Code::yaml_unsupported, "1:3"},
      {"a: " + deep + std::string(40, ']') + "\n", Code::yaml_unsupported, "1:35"},
      {"a: 1\n#" + std::string(max_yaml_bytes, 'x'), Code::yaml_unsupported, "1:1"},
  };
  for (const Case& c : cases) {
    INFO(c.text.substr(0, 60));
    Parsed p = parse(c.text);
    REQUIRE(p.diagnostics.all().size() == 1);
    const Diagnostic& d = p.diagnostics.all()[0];
    INFO(d.message);
    CHECK(id_of(d.code) == id_of(c.code));
    CHECK(Reading::at(d.where) == c.at);
  }
}

TEST_CASE("Reading goes on after a duplicate key, whose first value stays") {
  Parsed p = parse("a: 1\na: 2\nb: 3\nb: 4\nc: 5\n");
  CHECK(p.diagnostics.all().size() == 2);
  REQUIRE(p.root.entries.size() == 3);
  CHECK(p.root.find("a")->text == "1");
  CHECK(p.root.find("c")->text == "5");
  CHECK(Reading::at(p.diagnostics.all()[1].notes[0].first) == "3:1");
}

TEST_CASE("An open bracket is shown where it was opened, and reading goes on behind it") {
  Parsed p = parse("a: 1\nb: {c: [1, 2   # two\nd: 3\ne: {f: [4, g} # five\nd: 6\n");
  REQUIRE(p.diagnostics.all().size() == 3);
  const Diagnostic& open = p.diagnostics.all()[0];
  CHECK(open.message == "this bracket is never closed");
  CHECK(Reading::at(open.where) == "2:8");
  REQUIRE(open.notes.size() == 1);
  CHECK(open.notes[0].second == "expected `,` or `]` here");
  CHECK(Reading::at(open.notes[0].first) == "3:1");
  CHECK(open.help.text == "put `]}` at the end of line 2");
  REQUIRE(open.help.edits.size() == 1);
  CHECK(Reading::at(open.help.edits[0].where) == "2:12");
  CHECK(open.help.edits[0].text == "2]}");
  const Diagnostic& wrong = p.diagnostics.all()[1];
  CHECK(Reading::at(wrong.where) == "4:13");
  CHECK(wrong.help.text == "put `]` before it");
  const Diagnostic& twice = p.diagnostics.all()[2];
  CHECK(twice.code == Code::yaml_duplicate_key);
  CHECK(Reading::at(twice.where) == "5:1");
  CHECK(p.root.find("b")->find("c")->items.size() == 2);
  CHECK(p.root.find("e")->find("f")->items.size() == 2);
}

TEST_CASE("Places behind an edit are those of the text as it is written") {
  Parsed p = parse("a: {b: c?, d: 1, d: 2}\n");
  REQUIRE(p.diagnostics.all().size() == 2);
  CHECK(Reading::at(p.diagnostics.all()[0].where) == "1:8");
  CHECK(Reading::at(p.diagnostics.all()[1].where) == "1:18");
  CHECK(Reading::at(p.root.find("a")->find("d")->span) == "1:15");
}

TEST_CASE("Hostile inputs end quickly") {
  std::string many = "a: [", keys;
  for (int i = 0; i < 300000; ++i)
    many += "1,";
  for (int i = 0; i < 60000; ++i)
    keys += "k" + std::to_string(i) + ": 1\n";
  CHECK(parse(many + "1]").root.find("a")->items.size() == 300001);
  CHECK(parse(keys).root.entries.size() == 60000);
  for (const char* text : {"!2", "[:", "{:", "{foo:", "- - - -", "%YAML", "? ? ?", ": : :"})
    CHECK(parse(text).diagnostics.has_errors());
  CHECK(parse("a: " + std::string(100000, '[')).diagnostics.has_errors());
  CHECK(parse(std::string(100000, '{')).diagnostics.has_errors());
}

TEST_CASE("The right side of an override has its place in the argument") {
  Sources sources;
  Diagnostics diagnostics;
  int file = sources.add("command line, argument 3", "mesh={all: 4}");
  YamlNode node = parse_yaml_value(sources, file, 5, diagnostics);
  REQUIRE(node.is_map());
  CHECK(where(node.entries[0].first.span) == "1:7+3");
  CHECK(where(node.entries[0].second.span) == "1:12+1");
}

TEST_CASE("Printed YAML reads back as the same tree") {
  Parsed p =
      parse("a: {b: [1, \"2\", {c: 'x\ty', d: ~}], e: {}}\nf: [[1, 2], []]\n'g h': \"q\\\"\"\n");
  REQUIRE_FALSE(p.diagnostics.has_errors());
  std::string printed = print_yaml(p.root);
  CHECK(printed == R"(a:
  b:
    - 1
    - "2"
    - c: "x\x09y"
  e: {}
f:
  -
    - 1
    - 2
  - []
"g h": "q\""
)");
  Parsed again = parse(printed);
  CHECK_FALSE(again.diagnostics.has_errors());
  CHECK(print_yaml(again.root) == printed);
}
