// Damaged specs are refused or read, never a crash, and refusals say where.
#include <unistd.h>

#include <catch2/catch.hpp>

#include <random>
#include <sstream>

#include "reading.h"

namespace {

std::vector<std::string> shipped_specs() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(MTF_SPECS))
    if (entry.path().extension() == ".yaml") {
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      out.push_back(text.str());
    }
  std::sort(out.begin(), out.end());
  return out;
}

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  std::string operator()(std::string text) {
    for (size_t i = 0, n = 1 + below(4); i < n; ++i)
      mutate(text);
    return text;
  }
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

 private:
  void mutate(std::string& text) {
    static const std::vector<std::string> tokens = {"{",
                                                    "}",
                                                    "[",
                                                    "]",
                                                    ":",
                                                    ": ",
                                                    ",",
                                                    "\n",
                                                    "  ",
                                                    "\t",
                                                    "\"",
                                                    "'",
                                                    "#",
                                                    "&a ",
                                                    "*a",
                                                    "!!str ",
                                                    "<<: ",
                                                    "---\n",
                                                    "-",
                                                    "?",
                                                    "|",
                                                    ">",
                                                    "0",
                                                    "-1",
                                                    "2147483648",
                                                    "9223372036854775808",
                                                    "1e308",
                                                    "1e999",
                                                    ".inf",
                                                    "null",
                                                    "~",
                                                    "true",
                                                    "010",
                                                    "$x",
                                                    "ceil(",
                                                    "/ 0",
                                                    "* 99999999999",
                                                    "\xff",
                                                    "\xe2\x80\xae",
                                                    "layers",
                                                    "dims",
                                                    "batch"};
    size_t at = below(text.size() + 1), length = below(12);
    switch (below(6)) {
      case 0:
        text[at % text.size()] = static_cast<char>(random_());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, tokens[below(tokens.size())]);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      case 4:
        text.replace(at, length, tokens[below(tokens.size())]);
        break;
      default:
        text.resize(std::max<size_t>(at, 1));
    }
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("2,000 damaged specs never crash, and refusals have a place") {
  std::vector<std::string> specs = shipped_specs();
  REQUIRE(specs.size() >= 10);
  std::string path = write_file("mutated.yaml", "");
  size_t refused = 0, without_place = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Mutator mutate(seed);
    std::string text = mutate(specs[mutate.below(specs.size())]);
    std::ofstream(path, std::ios::binary) << text;
    INFO("seed " << seed);
    Reading r = read_path(path);
    std::string shown = r.text();
    bool safe = shown.find('\x1b') == std::string::npos && shown.find('\0') == std::string::npos;
    REQUIRE(safe);
    refused += r.diagnostics.has_errors();
    for (const mtf::Diagnostic& d : r.diagnostics.all())
      without_place += d.where.file < 0 || d.where.line < 1 || d.where.column < 1;
  }
  CHECK(refused > 1000);
  CHECK(without_place == 0);
}
