// What validate found, as programs read it: exact texts of a report with tabs, wide characters,
// quotes, percent signs, line ends, and a path that needs escapes in each format.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "report/diagnostics_formats.h"
#include "report/diagnostics_text.h"
#include "report/explanations.h"
#include "report/places.h"

using namespace mtf;
using nlohmann::json;

namespace {

// One error with a note in the library and an edit, one warning without a place.
FileReport awkward() {
  FileReport r;
  r.name = "./my specs/50%, a:b.yaml";
  const int file = r.sources.add(r.name, "name: x\n\té: \"日本 100%\"\n");
  const int library = r.sources.add("library:lm", "a: b\n", SourceKind::other);
  const SourceSpan where{file, 2, 5, 9};
  r.diagnostics.push_back({Code::spec_type,
                           "not <'日本\n100%'> & \x1b[2J",
                           where,
                           {{{library, 1, 4, 1}, "read here"}},
                           Help("quote it", {{where, "'日本'\n"}})});
  r.diagnostics.push_back({Code::mesh_axis_unused, "axis \"m\" is idle", {}, {}, {}});
  r.errors = r.warnings = 1;
  r.exit_code = 1;
  return r;
}

FileReport unread() {
  FileReport r;
  r.name = "gone.yaml";
  r.failure = "cannot read 'gone.yaml': 100% gone";
  r.errors = 1;
  r.exit_code = 4;
  return r;
}

json sarif_run(const std::vector<FileReport>& reports, int exit_code = 1) {
  return json::parse(as_sarif(reports, "1.2.3", exit_code))["runs"][0];
}

std::string fingerprint(const std::string& text, SourceSpan where, size_t result = 0) {
  FileReport r;
  r.name = "a.yaml";
  where.file = r.sources.add(r.name, text);
  for (int i = 0; i < 2; ++i)
    r.diagnostics.push_back({Code::spec_range, "wrong", where, {}, {}});
  std::vector<FileReport> all;
  all.push_back(std::move(r));
  return sarif_run(all)["results"][result]["partialFingerprints"]["mtfFinding/v1"];
}

std::vector<FileReport> both() {
  std::vector<FileReport> all;
  all.push_back(awkward());
  all.push_back(unread());
  return all;
}

}  // namespace

TEST_CASE("Places count bytes and code points") {
  Sources sources;
  std::string wide;
  for (int i = 0; i < 100000; ++i)
    wide += "é";
  const int file = sources.add("a.yaml", "one\r\n" + wide + "\nlast");
  const Places places(sources);
  auto ends = [&](SourceSpan s) {
    const Region r = places.region(s);
    return std::vector<size_t>{static_cast<size_t>(r.start.column), r.start.byte,
                               static_cast<size_t>(r.end.column), r.end.byte};
  };
  CHECK(ends({file, 1, 2, 1}) == std::vector<size_t>{2, 1, 3, 2});
  CHECK(ends({file, 1, 2, 50}) == std::vector<size_t>{2, 1, 4, 3});  // cut at the end of the line
  CHECK(ends({file, 2, 1, 0}) == std::vector<size_t>{1, 5, 1, 5});
  CHECK(ends({file, 2, 70001, 3}) == std::vector<size_t>{70001, 140005, 70004, 140011});
  CHECK(ends({file, 3, 5, 1}) == std::vector<size_t>{5, 200010, 5, 200010});  // the end of the file
  CHECK(places.region({file, 9, 1, 1}).start.line == 3);
  const Snippet s = places.snippet({file, 2, 70001, 3});
  CHECK(s.code.size() == 160 + 320);  // of a long line the part around the span
  CHECK(s.code.substr(s.begin, s.end - s.begin) == "ééé");
}

TEST_CASE("JSON has the shape of Terraform's") {
  const json j = json::parse(as_json(both()));
  CHECK(j["format_version"] == "1.0");
  CHECK(j["valid"] == false);
  CHECK(j["error_count"] == 2);
  CHECK(j["warning_count"] == 1);
  REQUIRE(j["diagnostics"].size() == 3);
  const json expected = json::parse(R"({
    "severity": "error", "code": "spec.type",
    "summary": "not <'日本 100%'> & �[2J", "detail": "quote it",
    "spec": "./my specs/50%, a:b.yaml",
    "range": {"filename": "./my specs/50%, a:b.yaml",
              "start": {"line": 2, "column": 5, "byte": 13},
              "end": {"line": 2, "column": 14, "byte": 26}},
    "snippet": {"context": null, "code": " é: \"日本 100%\"", "start_line": 2,
                "highlight_start_offset": 5, "highlight_end_offset": 18, "values": []},
    "related": [{"summary": "read here",
                 "range": {"filename": "library:lm", "start": {"line": 1, "column": 4, "byte": 3},
                           "end": {"line": 1, "column": 5, "byte": 4}}}],
    "edits": [{"range": {"filename": "./my specs/50%, a:b.yaml",
                         "start": {"line": 2, "column": 5, "byte": 13},
                         "end": {"line": 2, "column": 14, "byte": 26}},
               "text": "'日本'\n"}]})");
  CHECK(j["diagnostics"][0] == expected);
  CHECK(j["diagnostics"][1]["severity"] == "warning");
  CHECK(!j["diagnostics"][1].contains("range"));
  CHECK(j["diagnostics"][2]["summary"] == "cannot read 'gone.yaml': 100% gone");
  CHECK(j["files"][1] == json::parse(R"({"filename": "gone.yaml", "valid": false, "exit_code": 4,
                                         "error_count": 1, "warning_count": 0, "omitted": 0})"));
}

TEST_CASE("JSON lines end with the verdict of each file") {
  const std::string text = as_json_lines(awkward());
  std::vector<json> lines;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(json::parse(text.substr(at, text.find('\n', at) - at)));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["type"] == "diagnostic");
  CHECK(lines[0]["code"] == "spec.type");
  CHECK(lines[1]["code"] == "mesh.axis-unused");
  CHECK(lines[2]["type"] == "verdict");
  CHECK(lines[2]["error_count"] == 1);
}

TEST_CASE("GitHub's annotations escape what GitHub unescapes") {
  FileReport r = awkward();
  r.omitted = 7;
  CHECK(as_github(r) ==
        "::error file=my specs/50%25%2C a%3Ab.yaml,line=2,endLine=2,col=5,endColumn=14,"
        "title=spec.type::not <'日本 100%25'> & �[2J%0Alibrary:lm:1:4: note: read here%0Ahelp: "
        "quote it\n"
        "::warning file=my specs/50%25%2C a%3Ab.yaml,title=mesh.axis-unused::axis \"m\" is idle\n"
        "::notice title=mtf::./my specs/50%25, a:b.yaml: … and 7 more\n");
  CHECK(as_github(unread()) == "::error title=mtf::cannot read 'gone.yaml': 100%25 gone\n");
}

TEST_CASE("JUnit has a suite for each file and a case for each code") {
  CHECK(as_junit(both()) == R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="mtf" tests="2" failures="1" errors="1" time="0">
 <testsuite name="./my specs/50%, a:b.yaml" tests="1" failures="1" errors="0" time="0" skipped="0">
  <testcase classname="./my specs/50%, a:b.yaml" name="spec.type" file="./my specs/50%, a:b.yaml" time="0">
    <failure type="spec.type" message="not &lt;'日本 100%'&gt; &amp; �[2J">./my specs/50%, a:b.yaml:2:5: error: not &lt;'日本 100%'&gt; &amp; �[2J [spec.type]
    2 |     é: &quot;日本 100%&quot;
      |        ^~~~~~~~~~~
library:lm:1:4: note: read here
  help: quote it
</failure>
  </testcase>
  <system-out>warning: axis &quot;m&quot; is idle [mesh.axis-unused]
</system-out>
 </testsuite>
 <testsuite name="gone.yaml" tests="1" failures="0" errors="1" time="0" skipped="0">
  <testcase classname="gone.yaml" name="mtf validate" file="gone.yaml" time="0">
    <error message="cannot read 'gone.yaml': 100% gone"/>
  </testcase>
 </testsuite>
</testsuites>
)");
}

TEST_CASE("SARIF places results in files and fixes them") {
  const json run = sarif_run(both(), 4);
  CHECK(run["tool"]["driver"]["version"] == "1.2.3");
  const json& result = run["results"][0];
  const json& rule = run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()];
  CHECK(rule["id"] == "spec.type");
  CHECK(rule["shortDescription"]["text"] == title_of(Code::spec_type));
  CHECK(rule["help"]["markdown"] == *explanation(Code::spec_type));
  const json expected = json::parse(R"({
    "ruleId": "spec.type", "level": "error",
    "message": {"text": "not <'日本 100%'> & �[2J\nquote it"},
    "locations": [{"physicalLocation": {
      "artifactLocation": {"uri": "my%20specs/50%25%2C%20a%3Ab.yaml", "uriBaseId": "%SRCROOT%"},
      "region": {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 14}}}],
    "relatedLocations": [{"logicalLocations": [{"fullyQualifiedName": "library:lm"}],
                          "message": {"text": "library:lm:1:4: read here"}}],
    "fixes": [{"description": {"text": "quote it"}, "artifactChanges": [{
      "artifactLocation": {"uri": "my%20specs/50%25%2C%20a%3Ab.yaml", "uriBaseId": "%SRCROOT%"},
      "replacements": [{
        "deletedRegion": {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 14},
        "insertedContent": {"text": "'日本'\n"}}]}]}]})");
  for (const auto& [key, value] : expected.items())
    CHECK(result[key] == value);
  const json& second = run["results"][1];
  CHECK(second["level"] == "warning");
  CHECK(second["locations"][0]["physicalLocation"]["region"] == json{{"startLine", 1}});
  CHECK(run["columnKind"] == "unicodeCodePoints");
  CHECK(run["invocations"][0]["executionSuccessful"] == false);
  CHECK(run["invocations"][0]["exitCode"] == 4);
}

TEST_CASE("What is on the command line or in standard input has no file") {
  std::vector<FileReport> all(1);
  FileReport& r = all[0];
  r.name = "/a b/c.yaml";
  const int file = r.sources.add(r.name, "mtf: 1\n");
  const int argument = r.sources.add("command line, argument 3", "x.y=1", SourceKind::other);
  const Diagnostic alone{Code::spec_range, "too small", {argument, 1, 5, 1}, {}, {}};
  Diagnostic with_note = alone;
  with_note.notes = {{{file, 1, 6, 1}, "given here"}};
  r.diagnostics = {alone, with_note};
  const json results = sarif_run(all)["results"];
  CHECK(results[0]["message"]["text"] == "command line, argument 3:1:5: too small");
  const json& location = results[0]["locations"][0];
  CHECK(location["physicalLocation"]["artifactLocation"] == json{{"uri", "file:///a%20b/c.yaml"}});
  CHECK(location["logicalLocations"][0]["fullyQualifiedName"] == "command line, argument 3");
  CHECK(results[1]["locations"][0]["physicalLocation"]["region"]["startColumn"] == 6);
  CHECK(as_github(r) ==
        "::error file=/a b/c.yaml,title=spec.range::command line, argument 3:1:5: too small\n"
        "::error file=/a b/c.yaml,line=1,endLine=1,col=6,endColumn=7,title=spec.range::"
        "command line, argument 3:1:5: too small%0A/a b/c.yaml:1:6: note: given here\n");

  r.kind = SourceKind::other;
  r.name = "<stdin>";
  r.diagnostics = {alone};
  CHECK(as_github(r) == "::error title=spec.range::command line, argument 3:1:5: too small\n");
  CHECK(!sarif_run(all)["results"][0]["locations"][0].contains("physicalLocation"));
}

TEST_CASE("A fingerprint stays when lines are added above, and tells equal results apart") {
  const std::string before = fingerprint("a: 1\n  b: 2\n", {0, 2, 3, 1});
  CHECK(before == fingerprint("# new\n\na: 1\n    b: 2\n", {0, 4, 5, 1}));
  CHECK(before != fingerprint("a: 1\n  b: 3\n", {0, 2, 3, 1}));
  CHECK(before.ends_with(":1"));
  const std::string second = fingerprint("a: 1\n  b: 2\n", {0, 2, 3, 1}, 1);
  CHECK(second == before.substr(0, before.size() - 1) + "2");
}

TEST_CASE("Of a limited list errors are kept before warnings") {
  Sources sources;
  const int file = sources.add("a.yaml", "1\n2\n3\n");
  const std::vector<Diagnostic> list = {{Code::spec_range, "third", {file, 3, 1, 1}, {}, {}},
                                        {Code::dims_unused, "first", {file, 1, 1, 1}, {}, {}},
                                        {Code::spec_range, "second", {file, 2, 1, 1}, {}, {}}};
  auto names = [&](size_t limit) {
    std::string out;
    for (const Diagnostic& d : in_order(list, limit))
      out += d.message + " ";
    return out;
  };
  CHECK(names(0) == "first second third ");
  CHECK(names(2) == "second third ");
  CHECK(names(1) == "second ");
  CHECK(render_text(sources, list, false, 1).ends_with("… and 2 more\n"));
}
