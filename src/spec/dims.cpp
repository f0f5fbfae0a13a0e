// Evaluates expressions while parsing them, in exact fractions, and resolves the table of dims.
#include "spec/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace mtf {
namespace {

constexpr int max_nesting = 16;    // of parentheses
constexpr size_t max_chain = 100;  // of dims that depend on one another

struct Fraction {  // in lowest terms, denominator positive
  int64_t numerator = 0, denominator = 1;
};

std::optional<Fraction> reduced(__int128 numerator, __int128 denominator) {
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  __int128 a = numerator < 0 ? -numerator : numerator, b = denominator;
  while (b != 0)
    a = std::exchange(b, a % b);
  if (a != 0) {
    numerator /= a;
    denominator /= a;
  }
  constexpr __int128 limit = INT64_MAX;
  if (numerator > limit || numerator < -limit || denominator > limit)
    return std::nullopt;
  return Fraction{static_cast<int64_t>(numerator), static_cast<int64_t>(denominator)};
}

std::string show(Fraction f) {
  return f.denominator == 1 ? std::to_string(f.numerator)
                            : fmt::format("{}/{}", f.numerator, f.denominator);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word(char c) {
  return is_word_start(c) || is_digit(c);
}

class Evaluation {
 public:
  Evaluation(std::string_view text, SourceSpan span, const DimNames& names,
             Diagnostics& diagnostics)
      : text_(text), span_(span), names_(names), diagnostics_(diagnostics) {}

  std::optional<Fraction> whole() {
    std::optional<Fraction> value = sum();
    skip_blanks();
    if (value && at_ < text_.size())
      return fail(at_, 1, fmt::format("expected + - * / or the end, not '{}'", next_character()));
    return value;
  }

 private:
  std::optional<Fraction> fail(size_t at, size_t length, std::string message,
                               std::string help = {}) {
    diagnostics_.add(
        {Code::dims_expression, std::move(message), place(at, length), {}, std::move(help)});
    return std::nullopt;
  }

  // Part of the text; the whole span if the text is not written as it stands (an option's value).
  SourceSpan place(size_t at, size_t length) const {
    if (span_.length < static_cast<int>(text_.size()))
      return span_;
    return {span_.file, span_.line, span_.column + static_cast<int>(at), static_cast<int>(length)};
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c)
      return false;
    ++at_;
    return true;
  }
  std::string next_character() const {
    size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80)
      ++end;
    return std::string(text_.substr(at_, end - at_));
  }
  std::string_view take_word() {
    size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_]))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::optional<Fraction> sum() {
    std::optional<Fraction> left = product();
    while (left) {
      skip_blanks();
      size_t sign_at = at_;
      bool plus = take('+');
      if (!plus && !take('-'))
        break;
      std::optional<Fraction> right = product();
      if (!right)
        return std::nullopt;
      __int128 a = static_cast<__int128>(left->numerator) * right->denominator;
      __int128 b = static_cast<__int128>(right->numerator) * left->denominator;
      left = reduced(plus ? a + b : a - b,
                     static_cast<__int128>(left->denominator) * right->denominator);
      if (!left)
        return fail(sign_at, 1, "this sum is too large");
    }
    return left;
  }

  std::optional<Fraction> product() {
    std::optional<Fraction> left = factor();
    while (left) {
      skip_blanks();
      size_t sign_at = at_;
      bool times = take('*');
      if (!times && !take('/'))
        break;
      std::optional<Fraction> right = factor();
      if (!right)
        return std::nullopt;
      left = times ? multiply(*left, *right, sign_at) : divide(*left, *right, sign_at);
    }
    return left;
  }

  std::optional<Fraction> multiply(Fraction a, Fraction b, size_t at) {
    std::optional<Fraction> result = reduced(static_cast<__int128>(a.numerator) * b.numerator,
                                             static_cast<__int128>(a.denominator) * b.denominator);
    return result ? result : fail(at, 1, "this product is too large");
  }

  std::optional<Fraction> divide(Fraction a, Fraction b, size_t at) {
    if (b.numerator == 0)
      return fail(at, 1, fmt::format("{} is divided by 0", show(a)));
    std::optional<Fraction> result = reduced(static_cast<__int128>(a.numerator) * b.denominator,
                                             static_cast<__int128>(a.denominator) * b.numerator);
    if (!result)
      return fail(at, 1, "this quotient has too many digits");
    if (result->denominator != 1 && ceils_ == 0)
      return fail(at, 1, fmt::format("{} is not divisible by {}", show(a), show(b)),
                  "make the division exact, or round up: ceil(a / b)");
    return result;
  }

  std::optional<Fraction> factor() {
    skip_blanks();
    if (at_ >= text_.size())
      return fail(text_.empty() ? 0 : at_ - 1, 1,
                  "the expression ends where a number or dim should stand");
    char c = text_[at_];
    if (is_digit(c))
      return number();
    if (c == '$')
      return option();
    if (c == '(' || c == '-')
      return nested();
    if (!is_word_start(c))
      return fail(at_, 1,
                  fmt::format("expected a number, a dim or '(', not '{}'", next_character()));
    size_t begin = at_;
    std::string_view word = take_word();
    skip_blanks();
    if (word == "ceil" && at_ < text_.size() && text_[at_] == '(')
      return ceiling();
    std::optional<int64_t> size = names_.size(word, place(begin, word.size()));
    return size ? std::optional(Fraction{*size, 1}) : std::nullopt;
  }

  std::optional<Fraction> nested() {
    if (++nesting_ > max_nesting)
      return fail(at_, 1, fmt::format("nested more than {} deep", max_nesting));
    bool negative = text_[at_++] == '-';
    size_t opened_at = at_ - 1;
    std::optional<Fraction> value = negative ? factor() : sum();
    --nesting_;
    if (!value)
      return std::nullopt;
    if (negative)
      return Fraction{-value->numerator, value->denominator};
    return take(')') ? value : fail(opened_at, 1, "this '(' is not closed");
  }

  std::optional<Fraction> ceiling() {
    ++ceils_;
    std::optional<Fraction> value = nested();
    --ceils_;
    if (!value)
      return std::nullopt;
    int64_t quotient = value->numerator / value->denominator;
    bool rounded_down = value->numerator % value->denominator > 0;
    return Fraction{quotient + (rounded_down ? 1 : 0), 1};
  }

  std::optional<Fraction> number() {
    size_t begin = at_;
    __int128 digits = 0, scale = 1;
    bool point = false;
    for (; at_ < text_.size() && (is_digit(text_[at_]) || (text_[at_] == '.' && !point)); ++at_) {
      if (text_[at_] == '.') {
        point = true;
        continue;
      }
      digits = digits * 10 + (text_[at_] - '0');
      scale *= point ? 10 : 1;
      if (digits > INT64_MAX || scale > INT64_MAX)
        return fail(begin, at_ - begin, "this number has too many digits");
    }
    std::string_view written = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == ','))
      return fail(begin, written.size() + 1,
                  fmt::format("'{}' is not how a number is written",
                              text_.substr(begin, written.size() + 1)),
                  "write plain decimal digits, such as 1000");
    if (written.size() > 1 && written[0] == '0' && written[1] != '.')
      return fail(begin, written.size(), fmt::format("'{}' starts with a zero", written),
                  "write decimal digits without it");
    if (point && (ceils_ == 0 || written.back() == '.'))
      return fail(begin, written.size(), fmt::format("'{}' is not an integer", written),
                  "decimals may stand inside ceil(…) only");
    std::optional<Fraction> value = reduced(digits, scale);
    return value ? value : fail(begin, written.size(), "this number has too many digits");
  }

  std::optional<Fraction> option() {
    size_t begin = at_++;
    take_word();
    while (at_ + 1 < text_.size() && text_[at_] == '.' && is_word_start(text_[at_ + 1])) {
      ++at_;
      take_word();
    }
    std::string_view name = text_.substr(begin + 1, at_ - begin - 1);
    SourceSpan where = place(begin, at_ - begin);
    if (!names_.option)
      return fail(begin, at_ - begin, fmt::format("there is no option '${}' here", name));
    std::optional<std::string> text = names_.option(name, where);
    if (!text)
      return std::nullopt;
    Evaluation value(*text, {where.file, where.line, where.column, 0}, {names_.size, {}},
                     diagnostics_);
    value.ceils_ = ceils_;
    return value.whole();
  }

  std::string_view text_;
  SourceSpan span_;
  DimNames names_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
  int ceils_ = 0, nesting_ = 0;
};

}  // namespace

std::optional<int64_t> evaluate(std::string_view expression, SourceSpan span, const DimNames& names,
                                Diagnostics& diagnostics) {
  std::optional<Fraction> value = Evaluation(expression, span, names, diagnostics).whole();
  if (!value)
    return std::nullopt;
  if (value->denominator != 1 || value->numerator < 1 || value->numerator > max_dim_size) {
    diagnostics.add({Code::dims_expression,
                     fmt::format("'{}' is {}; a size is an integer from 1 to {}", expression,
                                 show(*value), with_commas(max_dim_size)),
                     span,
                     {},
                     {}});
    return std::nullopt;
  }
  return value->numerator;
}

DimTable::DimTable(Diagnostics& diagnostics, std::span<const DimSpec> dims)
    : diagnostics_(diagnostics) {
  for (const DimSpec& dim : dims)
    add(dim);
}

void DimTable::add(const DimSpec& dim, Options options) {
  entries_.try_emplace(dim.name, Entry{dim, std::move(options), State::waiting, {}});
}

const DimSpec* DimTable::find(std::string_view name) const {
  auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second.dim;
}

std::string DimTable::report_missing(std::string_view name, SourceSpan where,
                                     std::span<const std::string> known, bool each_time) {
  const auto reported = missing_.find(name);
  if (reported != missing_.end() && (reported->second.empty() || !each_time))
    return reported->second;
  const Help help = suggest(name, where, known,
                            known.empty() ? "give it a size in `dims:`"
                                          : "give it a size in `dims:`; " + there_are(known));
  diagnostics_.add(
      {Code::dims_expression, fmt::format("there is no dim '{}'", name), where, {}, help});
  missing_.insert_or_assign(std::string(name), help.meant());
  return help.meant();
}

std::optional<int64_t> DimTable::size(std::string_view name, SourceSpan where) {
  auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::vector<std::string> known;
    for (const auto& [n, entry] : entries_)
      known.push_back(n);
    found = entries_.find(report_missing(name, where, known));
    if (found == entries_.end())
      return std::nullopt;
  }
  Entry& entry = found->second;
  if (entry.state == State::done)
    return entry.size;
  if (entry.state == State::running)
    return report_cycle(entry);
  if (running_.size() >= max_chain) {
    diagnostics_.add({Code::dims_expression,
                      fmt::format("more than {} dims depend on one another in a chain", max_chain),
                      where,
                      {},
                      {}});
    return std::nullopt;
  }
  if (entry.dim.size.empty())  // it was reported when it was read
    return std::nullopt;
  entry.state = State::running;
  running_.push_back(&entry);
  entry.size = evaluate(entry.dim.size, entry.dim.size_span, entry.options);
  running_.pop_back();
  entry.state = State::done;
  return entry.size;
}

std::optional<int64_t> DimTable::evaluate(std::string_view expression, SourceSpan span,
                                          const Options& options) {
  DimNames names;
  names.size = [this](std::string_view name, SourceSpan where) { return size(name, where); };
  names.option = options;
  return mtf::evaluate(expression, span, names, diagnostics_);
}

std::optional<int64_t> DimTable::report_cycle(const Entry& first) {
  auto begin = std::find(running_.begin(), running_.end(), &first);
  std::string chain;
  for (auto entry = begin; entry != running_.end(); ++entry)
    chain += "'" + (*entry)->dim.name + "' → ";
  diagnostics_.add({Code::dims_expression,
                    fmt::format("these sizes depend on themselves: {}'{}'", chain, first.dim.name),
                    first.dim.size_span,
                    {},
                    "give one of them a number"});
  return std::nullopt;
}

}  // namespace mtf
