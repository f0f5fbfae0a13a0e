// Damages the text of a spec: bytes, tokens, lines, numbers, depth, lengths. Equal seeds, equal
// text.
#pragma once

#include <random>
#include <string>
#include <vector>

class Mutator {
 public:
  Mutator(const std::vector<std::string>& specs, uint32_t seed) : specs_(specs), random_(seed) {}

  // One of the specs, damaged one to four times.
  std::string operator()();

 private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }
  void damage(std::string& text);
  void damage_bytes(std::string& text);
  void damage_lines(std::string& text);
  void replace_number(std::string& text);
  std::string token();

  const std::vector<std::string>& specs_;
  std::mt19937 random_;
};
