// Every spec of this folder gets exactly the findings that it expects. With MTF_UPDATE=1 the
// expectations are rewritten instead.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "findings.h"
#include "plan/make_plan.h"
#include "report/diagnostics_text.h"

using namespace mtf;
namespace fs = std::filesystem;

namespace {

// Below `folder`, which becomes the working directory, so that messages name no other.
std::vector<std::string> specs_in(const fs::path& folder) {
  fs::current_path(folder);
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator("."))
    if (entry.path().extension() == ".yaml")
      out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

// A copy of this folder, in which specs may be changed.
struct Copy {
  fs::path folder = fs::temp_directory_path() / ("mtf_bad_" + std::to_string(::getpid()));
  Copy() { fs::copy(MTF_BAD, folder, fs::copy_options::recursive); }
  ~Copy() {
    fs::current_path(MTF_BAD);
    fs::remove_all(folder);
  }
};

}  // namespace

TEST_CASE("each bad spec gets exactly what its comments expect") {
  for (const std::string& spec : specs_in(MTF_BAD)) {
    const Expectations expected = read_expectations(spec);
    const std::vector<Finding> found = find(spec);
    const bool same = agree(expected.findings, found) && expected.nothing == found.empty();
    if (!same && std::getenv("MTF_UPDATE"))
      rewrite(expected, found);
    INFO(spec << "\nexpects\n"
              << as_comments(expected.findings) << "found\n"
              << as_comments(found));
    CHECK(same);
  }
}

TEST_CASE("validate and plan find the same") {
  const auto text = [](const std::string& path, bool whole) {
    Sources sources;
    Diagnostics found;
    const Spec spec = read_spec(sources, path, {}, found);
    if (whole)
      make_plan(spec, sources, natural_job(spec), found);
    else
      check_plan(spec, sources, natural_job(spec), found);
    return render_text(sources, found.all(), false);
  };
  for (const char* folder : {MTF_BAD, MTF_SPECS})
    for (const std::string& spec : specs_in(folder)) {
      INFO(spec);
      CHECK(text(spec, false) == text(spec, true));
    }
}

TEST_CASE("the bad specs that are shipped get what their comments ask for") {
  fs::current_path(MTF_SPECS);
  auto heads = [](const std::string& spec) {
    std::vector<std::string> out;
    for (const Finding& f : find(spec))
      out.push_back(f.head());
    return out;
  };
  using Heads = std::vector<std::string>;
  CHECK(heads("bad_axis_twice.yaml") ==
        Heads{"warning dims.unused 5:40", "error layout.axis-reused 9:3"});
  CHECK(heads("bad_many.yaml") ==
        Heads{"error layout.indivisible 7:23", "error layout.unknown-axis 7:43",
              "error layout.unknown-dim 7:50", "error spec.range 10:16",
              "error spec.unknown-key 10:38", "error yaml.duplicate-key 10:68"});
}

TEST_CASE("texts too large to keep are refused, or read, in time linear in their size") {
  const fs::path spec = fs::temp_directory_path() / ("mtf_large_" + std::to_string(::getpid()));
  auto heads = [&](const std::string& text) {
    std::ofstream(spec, std::ios::binary) << text;
    std::string out;
    for (const Finding& f : find(spec.string()))
      out += f.head() + "\n";
    fs::remove(spec);
    return out;
  };
  std::string keys = "mtf: 1\nmodel: {steps: []}\n", dims = keys + "dims:\n";
  for (int i = 0; i < 30000; ++i)
    keys += "k" + std::to_string(i) + ": 1\n";
  for (int i = 0; i < 30000; ++i)
    dims += "  k" + std::to_string(i) + ": 1\n";
  CHECK(std::count(keys.begin(), keys.end(), '\n') == 30002);
  const std::string unknown = heads(keys);
  CHECK(std::count(unknown.begin(), unknown.end(), '\n') == 30000);
  CHECK(unknown.starts_with("error spec.unknown-key 3:1\n"));
  CHECK(heads(dims).starts_with("error spec.range 3:1\n"));  // at most 1024
  CHECK(heads("mtf: 1\n#" + std::string(1 << 20, 'x')) == "error yaml.unsupported 1:1\n");
  CHECK(heads("mtf: 1\na: " + std::string(10000, '[')) == "error yaml.unsupported 2:35\n");
  CHECK(heads("mtf: 1\na: " + std::string(1000000, '{')) == "error yaml.unsupported 2:35\n");
}

TEST_CASE("every code has a bad spec") {
  std::set<std::string> seen;
  for (const std::string& spec : specs_in(MTF_BAD))
    for (const Finding& f : read_expectations(spec).findings)
      seen.insert(f.code);
  for (Code code : all_codes()) {
    INFO(id_of(code));
    CHECK(seen.count(std::string(id_of(code))));
  }
}

TEST_CASE("a suggested edit mends what it is suggested for") {
  const Copy copy;
  int edits = 0;
  for (const std::string& spec : specs_in(copy.folder)) {
    const std::string text = read_text_file(spec);
    const std::vector<Finding> all = find(spec);
    auto is_syntax = [](const Finding& f) { return f.code == "yaml.syntax"; };
    const auto syntax = std::count_if(all.begin(), all.end(), is_syntax);
    for (const Finding& f : all) {
      if (f.edits.empty() || f.place.find(':') != f.place.rfind(':'))
        continue;  // none, or in another file
      ++edits;
      std::ofstream(spec, std::ios::binary) << with_edits(text, f.edits);
      const std::vector<Finding> left = find(spec);
      INFO(spec << "\n" << f.head() << " " << f.message << "\nleft\n" << as_comments(left));
      CHECK(std::none_of(left.begin(), left.end(), [&](const Finding& l) {
        return l.code == f.code && l.message == f.message;
      }));
      CHECK(std::count_if(left.begin(), left.end(), is_syntax) == syntax - is_syntax(f));
    }
    std::ofstream(spec, std::ios::binary) << text;
  }
  CHECK(edits > 10);
}
