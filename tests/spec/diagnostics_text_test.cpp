// Diagnostics as text: the caret stands under the span whatever the line holds.
#include <catch2/catch.hpp>

#include "report/diagnostics_text.h"

using namespace mtf;

namespace {

std::string show(const std::string& line, SourceSpan where, std::string message = "wrong") {
  Sources sources;
  where.file = sources.add("a.yaml", line);
  return render_text(sources, Diagnostic{Code::spec_type, std::move(message), where, {}, {}},
                     false);
}

}  // namespace

TEST_CASE("A diagnostic looks like this") {
  Sources sources;
  std::string text;
  for (int i = 1; i < 12; ++i)
    text += "#\n";
  text += "layout:\n  batch: data\n  d_model: data\n";
  int file = sources.add("specs/gpt.yaml", text);
  Diagnostic d{
      Code::layout_axis_reused, "axis 'data' already splits 'batch'", {file, 14, 12, 4}, {}, {}};
  d.notes.emplace_back(SourceSpan{file, 13, 10, 4}, "'batch' is split over 'data' here");
  d.help = "make this rule soft: `d_model: data?`";
  CHECK(render_text(sources, d, false) ==
        R"(specs/gpt.yaml:14:12: error: axis 'data' already splits 'batch' [layout.axis-reused]
   14 |   d_model: data
      |            ^~~~
specs/gpt.yaml:13:10: note: 'batch' is split over 'data' here
  help: make this rule soft: `d_model: data?`
)");
  std::string coloured = render_text(sources, d, true);
  CHECK(coloured.find("\x1b[1;31merror:\x1b[0m") != std::string::npos);
  CHECK(coloured.find("\x1b[1;32m^~~~\x1b[0m") != std::string::npos);
}

TEST_CASE("Tabs and wide characters keep the caret in place") {
  CHECK(show("\ta: b", {0, 1, 5, 1}) == R"(a.yaml:1:5: error: wrong [spec.type]
    1 |     a: b
      |        ^
)");
  CHECK(show("日本: [語, x]", {0, 1, 6, 1}) == R"(a.yaml:1:6: error: wrong [spec.type]
    1 | 日本: [語, x]
      |        ^~
)");
  // e + combining accent is one column
  CHECK(show("e\xcc\x81: x", {0, 1, 5, 1}) ==
        "a.yaml:1:5: error: wrong [spec.type]\n    1 | e\xcc\x81: x\n      |    ^\n");
}

TEST_CASE("Nothing of a spec moves the cursor") {
  std::string shown =
      show("a: \x1b[2Jb\xe2\x80\xaex\xff", {0, 1, 4, 30}, "not '\x1b[31m\nred\x9b'");
  CHECK(shown == R"(a.yaml:1:4: error: not '�[31m red�' [spec.type]
    1 | a: �[2Jb�x�
      |    ^~~~~~~~
)");
}

TEST_CASE("Long lines and messages are cut around what matters") {
  std::string line = "a: [" + std::string(500, 'x') + "!" + std::string(500, 'y') + "]";
  CHECK(show(line, {0, 1, 505, 1}) == "a.yaml:1:505: error: wrong [spec.type]\n    1 | …" +
                                          std::string(33, 'x') + "!" + std::string(64, 'y') +
                                          "…\n      | " + std::string(34, ' ') + "^\n");
  CHECK(show("x", {0, 1, 1, 1}, std::string(100000, 'm')).size() < 3000);
}

TEST_CASE("Lists are in the order of their places and end at a hundred") {
  Sources sources;
  int file = sources.add("a.yaml", "one\ntwo\n");
  std::vector<Diagnostic> list;
  list.push_back({Code::spec_range, "no place", {}, {}, {}});
  list.push_back({Code::spec_range, "second", {file, 2, 1, 3}, {}, {}});
  list.push_back({Code::mesh_axis_unused, "first", {file, 1, 1, 3}, {}, {}});
  CHECK(render_text(sources, list, false) == R"(a.yaml:1:1: warning: first [mesh.axis-unused]
    1 | one
      | ^~~
a.yaml:2:1: error: second [spec.range]
    2 | two
      | ^~~
error: no place [spec.range]
)");
  list.assign(250, list[0]);
  std::string shown = render_text(sources, list, false);
  CHECK(shown.ends_with("… and 150 more\n"));
}
