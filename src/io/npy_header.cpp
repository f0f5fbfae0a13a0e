// A scanner for the one Python literal that .npy files hold.
#include "io/npy_header.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "base/error.h"

namespace mtf {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  bool take(std::string_view word) {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n'))
      rest_.remove_prefix(1);
    if (!rest_.starts_with(word))
      return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void need(std::string_view word) {
    if (!take(word))
      refuse(fmt::format("expected '{}'", word));
  }
  std::string quoted() {
    const std::string_view quote = take("'") ? "'" : "\"";
    if (quote == "\"")
      need(quote);
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos)
      refuse("a string has no end");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool boolean() {
    if (take("True"))
      return true;
    need("False");
    return false;
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> numbers;
    need("(");
    while (!take(")")) {
      int64_t n = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
      if (error != std::errc{} || n < 0)
        refuse("the shape is not a tuple of sizes");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      numbers.push_back(n);
      if (!take(",")) {
        need(")");
        break;
      }
      take("");  // spaces
    }
    return numbers;
  }
  void need_end() {
    take("");
    if (!rest_.empty())
      refuse("text after the closing brace");
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Failure(Exit::bad_input, where_ + ": bad .npy header: " + what);
  }

 private:
  std::string_view rest_;
  const std::string& where_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& where) {
  NpyHeader header;
  Scanner scan(text, where);
  std::set<std::string> seen;
  scan.need("{");
  while (!scan.take("}")) {
    const std::string key = scan.quoted();
    scan.need(":");
    if (!seen.insert(key).second)
      scan.refuse("the key '" + key + "' stands twice");
    if (key == "descr")
      header.descr = scan.quoted();
    else if (key == "fortran_order")
      header.fortran_order = scan.boolean();
    else if (key == "shape")
      header.shape = scan.tuple();
    else
      scan.refuse("unknown key '" + key + "'");
    if (!scan.take(",")) {
      scan.need("}");
      break;
    }
  }
  scan.need_end();
  if (seen.size() != 3)
    scan.refuse("descr, fortran_order and shape are needed");
  return header;
}

}  // namespace mtf
