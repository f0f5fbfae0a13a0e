#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mtf {
namespace {

// Optimal string alignment: a swap of neighbours is one edit.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string without_digits(std::string_view word) {
  std::string out(word);
  std::erase_if(out, [](char c) { return c >= '0' && c <= '9'; });
  return out;
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  std::vector<std::string> best;
  size_t least = word.size() < 2 ? 0 : word.size() < 6 ? 1 : 2;
  const std::string plain = without_digits(word);
  for (const std::string& c : candidates) {
    if (std::max(c.size(), word.size()) - std::min(c.size(), word.size()) > least)
      continue;
    const size_t d = edit_distance(word, c);
    if (d == 0 || d > least || without_digits(c) == plain)
      continue;
    if (d < least)
      best.clear();
    least = d;
    if (std::find(best.begin(), best.end(), c) == best.end())
      best.push_back(c);
  }
  return best;
}

std::vector<std::string> abbreviated(std::string_view word,
                                     std::span<const std::string> candidates) {
  constexpr size_t shortest = 3;
  auto is_short_for = [](std::string_view brief, std::string_view full) {
    size_t at = 0;
    for (char c : full)
      at += at < brief.size() && c == brief[at];
    return brief.size() >= shortest && brief[0] == full[0] && at == brief.size();
  };
  std::vector<std::string> out;
  for (const std::string& c : candidates)
    if (c != word && !c.empty() && without_digits(c) != without_digits(word) &&
        (is_short_for(word, c) || (c.size() >= shortest && word.starts_with(c))))
      out.push_back(c);
  return out;
}

std::string listed(std::span<const std::string> words, std::string_view last) {
  constexpr size_t most = 16;
  const size_t shown = words.size() > most ? most - 1 : words.size();
  std::string out;
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0)
      out += i + 1 == words.size() ? fmt::format(" {} ", last) : ", ";
    out += words[i];
  }
  if (shown < words.size())
    out += fmt::format(" {} {} more", last, words.size() - shown);
  return out;
}

std::string there_are(std::span<const std::string> words) {
  return (words.size() == 1 ? "there is " : "there are ") + listed(words);
}

std::string divisors(int64_t n, int64_t near) {
  constexpr size_t most = 12;
  std::vector<int64_t> all;
  for (int64_t d = 1; d * d <= n; ++d)
    if (n % d == 0) {
      all.push_back(d);
      if (d * d != n)
        all.push_back(n / d);
    }
  std::sort(all.begin(), all.end());
  const auto above = std::lower_bound(all.begin(), all.end(), near) - all.begin();
  const size_t begin =
      all.size() <= most
          ? 0
          : std::min<size_t>(std::max<std::ptrdiff_t>(above - most / 2, 0), all.size() - most);
  std::vector<std::string> words;
  for (size_t i = begin; i < std::min(all.size(), begin + most); ++i)
    words.push_back(std::to_string(all[i]));
  return listed(words);
}

std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > (number < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<size_t>(i), 1, ',');
  return digits;
}

std::string in_bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, units[unit]);
}

bool path_matches(std::string_view pattern, std::string_view path) {
  if (pattern.empty())
    return path.empty();
  if (pattern.starts_with("**")) {
    std::string_view rest = pattern.substr(2);
    for (size_t i = 0; i <= path.size(); ++i)
      if (path_matches(rest, path.substr(i)))
        return true;
    return rest.starts_with('/') && path_matches(rest.substr(1), path);
  }
  if (pattern[0] == '*') {
    for (size_t i = 0; i <= path.size(); ++i) {
      if (path_matches(pattern.substr(1), path.substr(i)))
        return true;
      if (i < path.size() && path[i] == '/')
        break;
    }
    return false;
  }
  return !path.empty() && pattern[0] == path[0] && path_matches(pattern.substr(1), path.substr(1));
}

}  // namespace mtf
