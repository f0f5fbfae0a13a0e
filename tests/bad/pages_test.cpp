// The pages that `mtf explain` prints: one for each code, with a spec that gets it and one that is
// right.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "findings.h"
#include "report/explanations.h"

using namespace mtf;

namespace {

// The text between "```yaml KIND" and "```"; "" if there is none.
std::string block(std::string_view page, const std::string& kind) {
  const std::string open = "```yaml " + kind + "\n";
  const size_t begin = page.find(open);
  if (begin == std::string_view::npos)
    return "";
  const size_t end = page.find("```", begin + open.size());
  return std::string(page.substr(begin + open.size(), end - begin - open.size()));
}

std::vector<Finding> find_in(const std::string& text) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("mtf_page_" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << text;
  const std::vector<Finding> found = find(path);
  std::filesystem::remove(path);
  return found;
}

}  // namespace

TEST_CASE("each code has a page whose wrong spec gets it and whose right spec gets nothing") {
  for (Code code : all_codes()) {
    INFO(id_of(code));
    const std::optional<std::string_view> page = explanation(code);
    CHECK(page);
    if (!page)
      continue;
    CHECK(page->starts_with("# " + std::string(id_of(code)) + "\n"));
    const std::string wrong = block(*page, "wrong"), right = block(*page, "right");
    CHECK(!wrong.empty());
    CHECK(!right.empty());
    const std::vector<Finding> found = find_in(wrong), left = find_in(right);
    INFO("wrong\n" << as_comments(found) << "right\n" << as_comments(left));
    CHECK(!found.empty());
    CHECK(std::all_of(found.begin(), found.end(), [&](const Finding& f) {
      return f.code == id_of(code) || f.severity == "warning";
    }));
    CHECK(std::any_of(found.begin(), found.end(),
                      [&](const Finding& f) { return f.code == id_of(code); }));
    CHECK(left.empty());
  }
}

TEST_CASE("the list of codes has a line for each, in columns") {
  std::istringstream list(codes_as_text());
  std::string line;
  size_t lines = 0, at = 0;
  for (; std::getline(list, line); ++lines) {
    const Code code = all_codes()[lines];
    const std::string title(title_of(code));
    CHECK(line.starts_with(std::string(id_of(code)) + " "));
    CHECK(line.ends_with(title));
    at = lines == 0 ? line.find(title) : at;
    CHECK(line.find(title) == at);
  }
  CHECK(lines == all_codes().size());
}

TEST_CASE("codes are found by their names") {
  CHECK(code_of("layout.axis-reused") == Code::layout_axis_reused);
  CHECK_FALSE(code_of("layout.axis_reused"));
  CHECK_FALSE(code_of(""));
}
