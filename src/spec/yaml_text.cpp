#include "spec/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/unicode.h"

namespace mtf {
namespace {

constexpr std::string_view no_break_space = "\xc2\xa0";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// What yaml-cpp says, with what would be right.
std::string syntax_message(const std::string& said) {
  auto says = [&](std::string_view words) { return said.find(words) != std::string::npos; };
  if (says("end of map flow"))
    return "expected `,` or `}` here";
  if (says("end of sequence flow"))
    return "expected `,` or `]` here";
  if (says("illegal flow end"))
    return "this bracket does not close the one that is open";
  if (says("EOF in scalar"))
    return "the text ends inside a quote that is never closed";
  if (says("illegal map value"))
    return "a `key: value` cannot start here; indent it like the keys above, or quote text that "
           "holds `: `";
  if (says("end of map"))
    return "expected another `key: value`, indented like the keys before it";
  if (says("end of sequence"))
    return "expected another `- item`, indented like the items before it";
  if (says("unknown token"))
    return "a value cannot start with this character; quote it if it is meant";
  return "not YAML: " + said;
}

// The bytes [begin, end) of the line that byte `at` lies in.
std::pair<size_t, size_t> line_around(std::string_view text, size_t at) {
  const size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return {begin, std::min(text.find('\n', at), text.size())};
}

std::optional<Diagnostic> find_no_break_space(const Places& places, size_t begin, size_t end) {
  const size_t at = places.text().substr(0, end).find(no_break_space, begin);
  if (at == std::string_view::npos)
    return std::nullopt;
  const SourceSpan where = places.span(at, no_break_space.size());
  return Diagnostic{Code::yaml_syntax,
                    "a no-break space (U+00A0) stands here, which YAML does not read as a blank",
                    where,
                    {},
                    Help("put a plain blank", {{where, " "}})};
}

// The bytes [begin, end) of the word in the place of a key on the line that begins at `line`; none
// if they are equal.
std::pair<size_t, size_t> key_of_line(std::string_view text, size_t line) {
  const size_t begin = std::min(text.find_first_not_of(" {-", line), text.size());
  size_t end = begin;
  while (end < text.size() && is_word(text[end]))
    ++end;
  return {begin, end};
}

// `name:value` on the line that begins at `begin`.
std::optional<Diagnostic> find_missing_blank(const Places& places, size_t begin) {
  const std::string_view text = places.text();
  const auto [key, colon] = key_of_line(text, begin);
  if (colon == key || colon + 1 >= text.size() || text[colon] != ':' || !is_word(text[colon + 1]))
    return std::nullopt;
  const SourceSpan where = places.span(colon, 1);
  return Diagnostic{Code::yaml_syntax,
                    fmt::format("a blank is missing after `{}:`", text.substr(key, colon - key)),
                    where,
                    {},
                    Help("put a blank", {{where, ": "}})};
}

// `name = value` on the line that begins at `begin`.
std::optional<Diagnostic> find_equals_sign(const Places& places, size_t begin) {
  const std::string_view text = places.text();
  const auto [key, end] = key_of_line(text, begin);
  const size_t sign = std::min(text.find_first_not_of(' ', end), text.size());
  const size_t value = std::min(text.find_first_not_of(' ', sign + 1), text.size());
  if (end == key || value == text.size() || text[sign] != '=' || text[value] == '\n')
    return std::nullopt;
  return Diagnostic{
      Code::yaml_syntax,
      fmt::format("expected `: ` between '{}' and its value", text.substr(key, end - key)),
      places.span(sign, 1),
      {},
      Help("write `: `", {{places.span(end, value - end), ": "}})};
}

std::optional<Diagnostic> find_tab(const Places& places, size_t begin, size_t end) {
  const std::string_view line = places.text().substr(begin, end - begin);
  const size_t blanks = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t tab = line.substr(0, blanks).find('\t');
  if (tab == std::string_view::npos)
    return std::nullopt;
  return Diagnostic{Code::yaml_syntax,
                    "a tab cannot indent a line",
                    places.span(begin + tab, 1),
                    {},
                    "indent with blanks"};
}

// How far a line is indented that starts an item, or a key, of a list or map.
struct Level {
  size_t indent = 0;
  bool is_item = false;
  int line = 0;
};

// The levels that a line opens, the innermost first: `  - a: 1` has those of its key and its item.
std::vector<Level> levels_of(std::string_view line, int number) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view rest = line.substr(indent);
  if (rest.empty() || rest[0] == '#' || rest[0] == '\r')
    return {};
  if (!rest.starts_with("- "))
    return {{indent, false, number}};
  const size_t key = std::min(rest.find_first_not_of("- "), rest.size());
  return {{indent + key, false, number}, {indent, true, number}};
}

// The levels of the lines above byte `begin` that are still open there, the innermost first.
std::vector<Level> open_levels(const Places& places, size_t begin) {
  std::vector<Level> open;
  size_t least = std::string_view::npos;
  for (size_t end = begin; end > 0 && least > 0;) {
    const size_t start = line_around(places.text(), end - 1).first;
    const int number = places.span(start, 1).line;
    for (const Level& level : levels_of(places.text().substr(start, end - 1 - start), number))
      if (level.indent < least) {
        open.push_back(level);
        least = level.indent;
      }
    end = start;
  }
  return open;
}

// A line that is indented like none of those above that it can continue.
std::optional<Diagnostic> find_indentation(const Places& places, size_t begin, size_t end) {
  const std::vector<Level> own = levels_of(places.text().substr(begin, end - begin), 0);
  if (own.empty())
    return std::nullopt;
  const Level& line = own.back();
  std::vector<Level> open = open_levels(places, begin);
  std::erase_if(open, [&](const Level& level) { return level.is_item != line.is_item; });
  const bool is_known = std::any_of(
      open.begin(), open.end(), [&](const Level& level) { return level.indent == line.indent; });
  if (open.empty() || is_known)
    return std::nullopt;
  Diagnostic d{Code::yaml_syntax,
               fmt::format("this line is indented by {}, like none above", line.indent),
               places.span(begin + line.indent, 1),
               {},
               {}};
  const auto below = std::find_if(open.begin(), open.end(),
                                  [&](const Level& level) { return level.indent < line.indent; });
  auto like = [](const Level& l) { return fmt::format("by {}, like line {}", l.indent, l.line); };
  if (below == open.begin())
    d.help = {"indent it " + like(open[0]),
              {{places.span(begin, line.indent), std::string(open[0].indent, ' ')}}};
  else
    d.help =
        "indent it " + like(*(below - 1)) + (below == open.end() ? "" : ", or " + like(*below));
  return d;
}

// `{length: model?}`: within brackets ? is a sign of YAML.
std::optional<Diagnostic> find_question_mark(const Places& places, size_t at) {
  const std::string_view text = places.text();
  if (at > 0 && (at == text.size() || text[at] != '?'))
    --at;
  size_t begin = at;
  while (begin > 0 && is_word(text[begin - 1]))
    --begin;
  if (at >= text.size() || text[at] != '?' || begin == at)
    return std::nullopt;
  const std::string word(text.substr(begin, at + 1 - begin));
  const SourceSpan where = places.span(begin, word.size());
  const std::string quoted = fmt::format("\"{}\"", word);
  return Diagnostic{Code::yaml_syntax,
                    fmt::format("within brackets, `{}` must stand in quotes", word),
                    where,
                    {},
                    Help(fmt::format("write `{}`", quoted), {{where, quoted}})};
}

// The last byte that is neither blank nor in a comment; 0 if there is none, or where quotes make
// that hard to tell.
size_t last_word_before(std::string_view text) {
  for (size_t end = text.size(); end > 0;) {
    const auto [begin, ignored] = line_around(text, end - 1);
    std::string_view line = text.substr(begin, end - begin);
    const size_t comment = line.starts_with('#') ? 0 : line.find(" #");
    if (comment != std::string_view::npos && line.find_first_of("\"'") != std::string_view::npos)
      return 0;
    line = line.substr(0, comment);
    if (const size_t last = line.find_last_not_of(" \t\r\n"); last != std::string_view::npos)
      return static_cast<unsigned char>(line[last]) < 0x80 ? begin + last : 0;
    end = begin;
  }
  return 0;
}

}  // namespace

Places::Places(int file, std::string_view text, size_t base, const std::vector<Made>& edits)
    : file_(file), text_(text), base_(base) {
  line_.resize(text.size() + 1);
  column_.resize(text.size() + 1);
  int line = 1, column = 1;
  for (size_t i = 0; i <= text.size(); ++i) {
    line_[i] = line;
    column_[i] = column;
    if (i == text.size())
      break;
    bool starts_next = i + 1 == text.size() || !is_continuation_byte(text[i + 1]);
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else if (starts_next) {
      ++column;
    }
  }
  for (const Made& edit : edits)
    for (size_t i = edit.end; i <= text.size() && line_[i] == line_[edit.end]; ++i)
      column_[i] -= edit.columns;
}

SourceSpan Places::span(size_t at, size_t bytes) const {
  size_t begin = std::min(base_ + at, text_.size());
  size_t end = std::min(begin + bytes, text_.size());
  int length = line_[begin] == line_[end] ? column_[end] - column_[begin] : 1;
  return {file_, line_[begin], column_[begin], std::max(length, 1)};
}

std::pair<size_t, size_t> Places::bytes_of(SourceSpan span) const {
  const auto line = std::lower_bound(line_.begin(), line_.end(), span.line) - line_.begin();
  auto begin = static_cast<size_t>(line);
  while (begin < text_.size() && line_[begin] == span.line && column_[begin] < span.column)
    ++begin;
  size_t end = begin;
  while (end < text_.size() && line_[end] == span.line && column_[end] < span.column + span.length)
    ++end;
  return {begin, end - begin};
}

size_t quoted_bytes(std::string_view text) {
  char quote = text[0];
  for (size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '\'' && i + 1 < text.size() && text[i + 1] == '\'')
        ++i;
      else
        return i + 1;
    }
  }
  return 0;
}

bool check_bytes(const Places& places, Diagnostics& diagnostics) {
  const std::string_view text = places.text();
  size_t at = 0;
  auto refuse = [&](std::string message) {
    diagnostics.add({Code::yaml_syntax, std::move(message), places.span(at, 1), {}, {}});
    return false;
  };
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return refuse("the text is UTF-16; save it as UTF-8");
  while (at < text.size()) {
    CodePoint c = decode_utf8(text.substr(at));
    if (c.bytes == 0)
      return refuse("the text is not UTF-8 here; save it as UTF-8");
    if (c.value == '\r' && (at + 1 == text.size() || text[at + 1] != '\n'))
      return refuse("a carriage return without a line feed; end lines with LF or CR LF");
    bool control = c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0 && c.value != 0x85);
    if (control && c.value != '\t' && c.value != '\n' && c.value != '\r')
      return refuse(fmt::format("a control character (U+{:04X}) cannot stand in a spec",
                                static_cast<unsigned>(c.value)));
    at += c.bytes;
  }
  return true;
}

Diagnostic explain_syntax(const Places& places, size_t at, const std::string& said) {
  const std::string_view text = places.text();
  at = std::min(at, text.size());
  if (said.find("anchor is not defined") != std::string::npos)
    return {Code::yaml_unsupported,
            "aliases (*name) are not used in specs",
            places.span(at, 1),
            {},
            "write the value out, or use `extends:`"};
  if (at > 0 && text.substr(at - 1).starts_with("${"))
    return explain_environment(places, at - 1, "");
  const auto [begin, end] = line_around(text, at);
  const size_t above = begin == 0 ? 0 : line_around(text, begin - 1).first;
  if (auto found = find_tab(places, begin, end))
    return *found;
  if (auto found = find_no_break_space(places, above, end))
    return *found;
  if (auto found = find_missing_blank(places, above))
    return *found;
  if (auto found = find_equals_sign(places, above))
    return *found;
  if (auto found = find_question_mark(places, at))
    return *found;
  const bool in_brackets = said.find("flow") != std::string::npos;
  if (auto found = in_brackets ? std::nullopt : find_indentation(places, begin, end))
    return *found;
  return {Code::yaml_syntax, syntax_message(said), places.span(at, 1), {}, {}};
}

Help help_to_close(const Places& places, size_t at, const std::vector<size_t>& open) {
  const std::string_view text = places.text();
  auto closing = [&](size_t bracket) { return text[bracket] == '[' ? ']' : '}'; };
  const char here = at < text.size() ? text[at] : '\0', closer = closing(open.back());
  if (here == ']' || here == '}') {
    const bool closes_outer = std::any_of(open.begin(), open.end(),
                                          [&](size_t bracket) { return closing(bracket) == here; });
    return closes_outer ? Help(fmt::format("put `{}` before it", closer),
                               {{places.span(at, 1), fmt::format("{}{}", closer, here)}})
                        : Help(fmt::format("write `{}`", closer),
                               {{places.span(at, 1), std::string(1, closer)}});
  }
  const auto [opened, line_end] = line_around(text, open.back());
  const size_t end = last_word_before(text.substr(0, line_around(text, at).first));
  if (end < open.back())
    return {};
  std::string closers;
  for (size_t i = open.size(); i-- > 0 && open[i] >= opened;)
    closers += closing(open[i]);
  const SourceSpan last = places.span(end, 1);
  return {fmt::format("put `{}` at the end of line {}", closers, last.line),
          {{last, text[end] + closers}}};
}

Diagnostic explain_no_map(const Places& places, SourceSpan scalar) {
  const size_t end = places.text().size();
  if (auto found = find_no_break_space(places, 0, end))
    return *found;
  for (size_t line = 0; line < end; line = line_around(places.text(), line).second + 1)
    if (auto found = find_missing_blank(places, line))
      return *found;
  return {Code::yaml_syntax,
          "expected a map of `key: value` lines (mind the blank after `:`)",
          scalar,
          {},
          {}};
}

Diagnostic explain_environment(const Places& places, size_t at, const std::string& path) {
  const std::string_view text = places.rest(at);
  const size_t close = text.find_first_of("}\n");
  size_t name = 2;
  while (name < text.size() && is_word(text[name]))
    ++name;
  const std::string_view written =
      text.substr(0, close == std::string_view::npos ? name : close + 1);
  return {Code::spec_environment,
          fmt::format("'{}' is not replaced: a spec does not read the environment", written),
          places.span(at, written.size()),
          {},
          fmt::format("write the value, or give it on the command line: --set {}=\"${}\"",
                      path.empty() ? "KEY" : path, text.substr(2, name - 2))};
}

}  // namespace mtf
