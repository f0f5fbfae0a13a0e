// Small words about text that messages need.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtf {

// The candidates nearest to `word`, each once: 1 edit away, or 2 from words of 6 letters on. Edits
// are letters that are missing, too many, wrong or swapped; words that differ in digits alone are
// not near, as h1 and h2 are two names. Takes time linear in the candidates, however long the word.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// The candidates that `word`, of at least 3 letters, may be short for (mul for multiply), or that
// start it (rmsnorm, of rms).
std::vector<std::string> abbreviated(std::string_view word,
                                     std::span<const std::string> candidates);

// "a, b and c"; of many the first, and how many more.
std::string listed(std::span<const std::string> words, std::string_view last = "and");

std::string there_are(std::span<const std::string> words);  // "there is a", "there are a and b"

// The divisors of n, as "1, 2 and 4"; of many those next to `near`.
std::string divisors(int64_t n, int64_t near);

std::string with_commas(int64_t number);  // 12,345,678
std::string in_bytes(int64_t bytes);      // 1.50 GiB; exact below 1 KiB

// Does `path` match `pattern`? `*` stays inside one component, `**` does not, `[3]` is literal.
bool path_matches(std::string_view pattern, std::string_view path);

}  // namespace mtf
