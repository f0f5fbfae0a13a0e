#include "mutator.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace {

const std::vector<std::string> tokens = {"{",
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
                                         "null",
                                         "~",
                                         "true",
                                         "010",
                                         "$x",
                                         "ceil(",
                                         "/ 0",
                                         "\xff",
                                         "\xe2\x80\xae",
                                         "* 99999999999",
                                         "layers",
                                         "dims",
                                         "batch",
                                         "data",
                                         "extends",
                                         "x",
                                         "einsum",
                                         "repeat",
                                         "with",
                                         "use",
                                         "like",
                                         "\xef\xbb\xbf"};

const std::vector<std::string> extremes = {"0",
                                           "-1",
                                           "1",
                                           "3",
                                           "2147483648",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "2305843009213693951",
                                           "1e308",
                                           "1e-308",
                                           "1e999",
                                           ".inf",
                                           ".nan",
                                           "1000000"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

bool digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c));
}

}  // namespace

std::string Mutator::operator()() {
  std::string text = specs_[below(specs_.size())];
  for (size_t i = 0, n = 1 + below(2) * below(4); i < n; ++i)
    damage(text);
  return text;
}

void Mutator::damage(std::string& text) {
  switch (below(4)) {
    case 0:
      return damage_bytes(text);
    case 1:
      return damage_lines(text);
    case 2:
      return replace_number(text);
    default:
      text.insert(below(text.size() + 1), token());
  }
}

// Mostly a short token; at times a very long name, or brackets in brackets.
std::string Mutator::token() {
  const size_t length = size_t{1} << below(14), depth = 1 + below(200);
  switch (below(12)) {
    case 0:
      return std::string(length, 'n');
    case 1:
      return std::string(depth, '[') + std::string(depth, ']');
    case 2:
      return std::string(depth, '{');
    default:
      return tokens[below(tokens.size())];
  }
}

void Mutator::damage_bytes(std::string& text) {
  if (text.empty())
    return;
  const size_t at = below(text.size()), length = below(12);
  switch (below(5)) {
    case 0:
      text[at] = static_cast<char>(random_());
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.replace(at, length, tokens[below(tokens.size())]);
      break;
    case 3:
      text.insert(at, text.substr(below(text.size()), below(40)));
      break;
    default:
      text.resize(at);
  }
}

void Mutator::damage_lines(std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  if (lines.empty())
    return;
  const auto at = lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size()));
  const std::vector<std::string> others = lines_of(specs_[below(specs_.size())]);
  switch (below(6)) {
    case 0:
      lines.erase(at);
      break;
    case 1:
      lines.insert(at, std::string(*at));
      break;
    case 2:
      std::iter_swap(at, lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size())));
      break;
    case 3:
      at->insert(0, "  ");
      break;
    case 4:
      at->erase(0, 2);
      break;
    default:  // a spec may be empty
      lines.insert(at, others.empty() ? token() : others[below(others.size())]);
  }
  text.clear();
  for (const std::string& line : lines)
    text += line + "\n";
}

void Mutator::replace_number(std::string& text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if (digit(text[i]) && (i == 0 || !digit(text[i - 1])))
      starts.push_back(i);
  if (starts.empty())
    return;
  const size_t begin = starts[below(starts.size())];
  size_t end = begin;
  while (end < text.size() && digit(text[end]))
    ++end;
  text.replace(begin, end - begin, extremes[below(extremes.size())]);
}
