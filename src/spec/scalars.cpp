// Strict scalars: only one spelling of each value, and messages that say which.
#include "spec/scalars.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace mtf {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

size_t count_digits(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && is_digit(text[n]))
    ++n;
  return n;
}

// Is `text` -?(0|[1-9][0-9]*), followed by (\.[0-9]+)?([eE][+-]?[0-9]+)? if fractions are allowed?
// `.5` is a fraction too.
bool is_number(std::string_view text, bool fractions) {
  if (text.starts_with('-'))
    text.remove_prefix(1);
  size_t digits = count_digits(text);
  const bool point_first = fractions && digits == 0 && text.starts_with('.');
  if ((digits == 0 && !point_first) || (digits > 1 && text[0] == '0'))
    return false;
  text.remove_prefix(digits);
  if (fractions && text.starts_with('.')) {
    digits = count_digits(text.substr(1));
    if (digits == 0)
      return false;
    text.remove_prefix(digits + 1);
  }
  if (fractions && (text.starts_with('e') || text.starts_with('E'))) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-'))
      text.remove_prefix(1);
    digits = count_digits(text);
    if (digits == 0)
      return false;
    text.remove_prefix(digits);
  }
  return text.empty();
}

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

void report_range(const YamlNode& node, std::string_view key, std::string_view allowed,
                  Diagnostics& diagnostics) {
  diagnostics.add({Code::spec_range,
                   fmt::format("'{}' is {}; it must be {}", key, node.text, allowed),
                   node.span,
                   {},
                   {}});
}

// What a text that is no number was probably meant to be.
Help help_for_number(const YamlNode& node, bool fractions) {
  if (!node.is_scalar())
    return {};
  if (node.quoted)
    return is_number(node.text, fractions) ? rewritten(node, "take the quotes off", node.text)
                                           : Help();
  std::string plain = node.text;
  std::erase(plain, '_');
  if (plain != node.text && is_number(plain, fractions))
    return rewritten(node, "write it without _", plain);
  const size_t point = node.text.find(".0");
  if (!fractions && is_number(node.text, true) && point != std::string::npos &&
      node.text.find_first_not_of('0', point + 1) == std::string::npos)
    return rewritten(node, "write it without a fraction", node.text.substr(0, point));
  if (node.text.size() > 1 && node.text[0] == '0')
    return is_digit(node.text[1]) ? "a number does not start with a zero"
                                  : "numbers are decimal: write it in the digits 0 to 9";
  return {};
}

template <class T>
std::optional<T> read_plain_number(const YamlNode& node, std::string_view key, Range range,
                                   Diagnostics& diagnostics, bool fractions) {
  if (!node.is_scalar() || node.quoted || !is_number(node.text, fractions)) {
    std::string expected = fractions ? "a number" : "an integer";
    report_type(node, key, expected + (range.text().empty() ? "" : ", " + range.text()),
                diagnostics, help_for_number(node, fractions));
    return std::nullopt;
  }
  std::optional<T> value = parsed<T>(node.text);
  if (!value) {
    report_range(node, key, "a number that fits in 64 bits", diagnostics);
    return std::nullopt;
  }
  if (!range.holds(static_cast<double>(*value))) {
    report_range(node, key, range.text(), diagnostics);
    return std::nullopt;
  }
  return value;
}

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 9> units = {{{"B", 1},
                                        {"KiB", 1024.0},
                                        {"MiB", 1048576.0},
                                        {"GiB", 1073741824.0},
                                        {"TiB", 1099511627776.0},
                                        {"KB", 1e3},
                                        {"MB", 1e6},
                                        {"GB", 1e9},
                                        {"TB", 1e12}}};

}  // namespace

std::string_view boolean_meant(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::string_view word : {"true", "yes", "on", "y"})
    if (text == word)
      return "true";
  for (std::string_view word : {"false", "no", "off", "n"})
    if (text == word)
      return "false";
  return "";
}

std::optional<int64_t> read_integer(const YamlNode& node, std::string_view key, Range range,
                                    Diagnostics& diagnostics) {
  return read_plain_number<int64_t>(node, key, range, diagnostics, false);
}

std::optional<double> read_number(const YamlNode& node, std::string_view key, Range range,
                                  Diagnostics& diagnostics) {
  return read_plain_number<double>(node, key, range, diagnostics, true);
}

std::optional<bool> read_boolean(const YamlNode& node, std::string_view key,
                                 Diagnostics& diagnostics) {
  if (node.is_scalar() && !node.quoted && (node.text == "true" || node.text == "false"))
    return node.text == "true";
  const std::string_view meant = node.is_scalar() ? boolean_meant(node.text) : "";
  report_type(node, key, "true or false", diagnostics,
              meant.empty() ? Help() : rewritten(node, "write", std::string(meant)));
  return std::nullopt;
}

std::optional<std::string> read_text(const YamlNode& node, std::string_view key,
                                     Diagnostics& diagnostics) {
  if (node.is_scalar() && (node.quoted || !reads_as_number(node.text)))
    return node.text;
  report_type(node, key, "text", diagnostics,
              node.is_scalar() ? rewritten(node, "text that looks like this is quoted",
                                           fmt::format("\"{}\"", node.text))
                               : Help());
  return std::nullopt;
}

std::optional<int64_t> read_bytes(const YamlNode& node, std::string_view key,
                                  Diagnostics& diagnostics) {
  std::string_view text = node.text;
  size_t number = 0;
  while (number < text.size() && (is_digit(text[number]) || text[number] == '.'))
    ++number;
  std::string_view amount = text.substr(0, number), unit_name = text.substr(number);
  while (unit_name.starts_with(' '))
    unit_name.remove_prefix(1);
  const Unit* unit = nullptr;
  for (const Unit& u : units)
    if (unit_name == u.name || (unit_name.empty() && u.bytes == 1))
      unit = &u;
  if (!node.is_scalar() || node.quoted || unit == nullptr || !is_number(amount, true)) {
    report_type(node, key, "a size such as 512MiB or 2GiB", diagnostics);
    return std::nullopt;
  }
  std::optional<double> value = parsed<double>(amount);
  constexpr double most = 1152921504606846976.0;  // 2^60: sums of sizes still fit 64 bits
  if (!value || *value * unit->bytes < 1 || *value * unit->bytes > most) {
    report_range(node, key, between(1, most).text(), diagnostics);
    return std::nullopt;
  }
  return static_cast<int64_t>(*value * unit->bytes);
}

bool is_name(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text[0]))
    return false;
  for (char c : text)
    if (!letter(c) && !is_digit(c))
      return false;
  return true;
}

bool reads_as_number(std::string_view text) {
  return text == "true" || text == "false" || is_number(text, true);
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::list:
      return fmt::format("a list of {}", node.items.size());
    case YamlNode::Kind::map:
      return "a map";
    case YamlNode::Kind::scalar:
      break;
  }
  if (node.quoted)
    return fmt::format("the quoted text \"{}\"", node.text);
  return is_number(node.text, true) ? "the number " + node.text : "'" + node.text + "'";
}

Help rewritten(const YamlNode& node, std::string_view words, std::string text) {
  std::string all = fmt::format("{}: {}", words, text);
  return {std::move(all), {{node.span, std::move(text)}}};
}

void report_type(const YamlNode& node, std::string_view key, std::string_view expected,
                 Diagnostics& diagnostics, Help help) {
  diagnostics.add({Code::spec_type,
                   fmt::format("'{}' must be {}, not {}", key, expected, describe(node)),
                   node.span,
                   {},
                   std::move(help)});
}

void report_word(const YamlNode& node, std::string_view key, std::span<const std::string> allowed,
                 Diagnostics& diagnostics) {
  diagnostics.add(
      {node.is_scalar() ? Code::spec_range : Code::spec_type,
       fmt::format("'{}' must be one of {}, not {}", key, listed(allowed), describe(node)),
       node.span,
       {},
       suggest(node.text, node.span, allowed)});
}

}  // namespace mtf
