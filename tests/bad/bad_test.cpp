// Every spec of this folder gets exactly the findings that it expects. With MTF_UPDATE=1 the
// expectations are rewritten instead.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "findings.h"

using namespace mtf;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> specs_in(const fs::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml")
      out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

// A copy of this folder, in which specs may be changed.
struct Copy {
  fs::path folder = fs::temp_directory_path() / ("mtf_bad_" + std::to_string(::getpid()));
  Copy() { fs::copy(MTF_BAD, folder, fs::copy_options::recursive); }
  ~Copy() { fs::remove_all(folder); }
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
    for (const Finding& f : find(spec)) {
      if (f.edits.empty() || f.place.find(':') != f.place.rfind(':'))
        continue;  // none, or in another file
      ++edits;
      std::ofstream(spec, std::ios::binary) << with_edits(text, f.edits);
      const std::vector<Finding> left = find(spec);
      INFO(spec << "\n" << f.head() << " " << f.message << "\nleft\n" << as_comments(left));
      CHECK(std::none_of(left.begin(), left.end(), [&](const Finding& l) {
        return (l.code == f.code && l.message == f.message) || l.code == "yaml.syntax";
      }));
    }
    std::ofstream(spec, std::ios::binary) << text;
  }
  CHECK(edits > 10);
}
