// Diagnostic → message, excerpt with caret, notes, help.
#include "report/diagnostics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "base/unicode.h"

namespace mtf {
namespace {

constexpr size_t longest_message = 2000;  // bytes; more can only be a user's own text
constexpr int excerpt_columns = 100;      // longer lines show what is around the caret
constexpr int tab_columns = 4;
constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

struct Block {
  char32_t first, last;
};

bool lies_in(std::span<const Block> blocks, char32_t c) {
  return std::any_of(blocks.begin(), blocks.end(),
                     [c](Block b) { return c >= b.first && c <= b.last; });
}

// Characters that would move the cursor or reorder the line, or that XML cannot hold.
bool is_unsafe(char32_t c) {
  constexpr std::array<Block, 7> blocks = {{{0, 0x1f},
                                            {0x7f, 0x9f},
                                            {0x200e, 0x200f},
                                            {0x2028, 0x202e},
                                            {0x2066, 0x2069},
                                            {0xfeff, 0xfeff},
                                            {0xfffe, 0xffff}}};
  return lies_in(blocks, c);
}

// Terminal columns of one character: Unicode's East Asian Width (UAX 11) by its large blocks.
int columns_of(char32_t c) {
  constexpr std::array<Block, 5> none = {
      {{0x300, 0x36f}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}}};
  constexpr std::array<Block, 9> two = {{{0x1100, 0x115f},
                                         {0x2e80, 0xa4cf},
                                         {0xac00, 0xd7a3},
                                         {0xf900, 0xfaff},
                                         {0xfe30, 0xfe6f},
                                         {0xff00, 0xff60},
                                         {0xffe0, 0xffe6},
                                         {0x1f300, 0x1faff},
                                         {0x20000, 0x3fffd}}};
  return lies_in(none, c) ? 0 : lies_in(two, c) ? 2 : 1;
}

struct Glyph {  // one character of a source line as it is shown
  std::string text;
  int columns = 1;
};

// The first `most` characters of a line.
std::vector<Glyph> glyphs(std::string_view line, size_t most) {
  std::vector<Glyph> out;
  while (!line.empty() && out.size() < most) {
    CodePoint c = decode_utf8(line);
    size_t bytes = std::max<size_t>(c.bytes, 1);
    if (c.value == '\t')
      out.push_back({std::string(tab_columns, ' '), tab_columns});
    else if (c.bytes == 0 || is_unsafe(c.value))
      out.push_back({std::string(replacement), 1});
    else
      out.push_back({std::string(line.substr(0, bytes)), columns_of(c.value)});
    line.remove_prefix(bytes);
  }
  return out;
}

// Bytes of the first n characters of a line, or all of it.
size_t bytes_of(std::string_view line, size_t n) {
  for (size_t i = 0; i < line.size(); ++i)
    if (!is_continuation_byte(line[i]) && n-- == 0)
      return i;
  return line.size();
}

struct Paint {  // terminal colours, or nothing
  bool on;
  std::string operator()(std::string_view code, std::string_view text) const {
    return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
};

std::string_view colour_of(Severity s) {
  return s == Severity::error ? "1;31" : s == Severity::warning ? "1;35" : "1;36";
}

std::string head(const Sources& sources, SourceSpan where, Severity severity, Paint paint) {
  std::string place = place_of(sources, where);
  if (!place.empty())
    place += ": ";
  return paint("1", place) + paint(colour_of(severity), fmt::format("{}:", word_of(severity))) +
         ' ';
}

// The line with a caret under the span; of a long line the part around the span.
std::string excerpt(const Sources& sources, SourceSpan where, Paint paint) {
  std::string_view text = sources.line(where);
  size_t begin = static_cast<size_t>(std::max(where.column - 1, 0));
  constexpr size_t context = excerpt_columns / 3, most = 10 * excerpt_columns;
  const bool is_long = bytes_of(text, excerpt_columns) < text.size();
  const size_t first = is_long && begin > context ? begin - context : 0;
  text.remove_prefix(bytes_of(text, first));
  const std::vector<Glyph> line = glyphs(text, most);
  begin = std::min(begin - first, line.size());
  const size_t end = std::min(begin + static_cast<size_t>(std::max(where.length, 1)), line.size());

  std::string shown = first > 0 ? "…" : "";
  int column = first > 0 ? 1 : 0, caret = column, tail = column;
  size_t i = 0;
  for (; i < line.size() && column + line[i].columns < excerpt_columns; ++i) {
    caret = i < begin ? column + line[i].columns : caret;
    column += line[i].columns;
    tail = i < end ? column : tail;
    shown += line[i].text;
  }
  if (i < line.size())
    shown += "…";
  std::string marks(static_cast<size_t>(std::max(tail - caret - 1, 0)), '~');
  return fmt::format("{:>5} | {}\n      | {}{}\n", where.line, shown,
                     std::string(static_cast<size_t>(caret), ' '), paint("1;32", "^" + marks));
}

// What comes first is shown first: by file, line and column.
bool is_before(const Diagnostic& a, const Diagnostic& b) {
  auto place = [](SourceSpan s) { return std::tuple(s.file < 0, s.file, s.line, s.column); };
  return place(a.where) < place(b.where);
}

}  // namespace

std::string_view word_of(Severity s) {
  return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "note";
}

std::string place_of(const Sources& sources, SourceSpan where) {
  if (where.file < 0)
    return {};
  return fmt::format("{}:{}:{}", printable(sources[where.file].name), where.line, where.column);
}

std::string and_more(size_t omitted) {
  return omitted > 0 ? fmt::format("… and {} more", omitted) : "";
}

std::string printable(std::string_view text) {
  std::string out;
  bool cut = text.size() > longest_message;
  text = text.substr(0, longest_message);
  while (!text.empty()) {
    CodePoint c = decode_utf8(text);
    if (c.bytes == 0 && cut && text.size() < 4)
      break;  // the cut went through a character
    if (c.value == '\n' || c.value == '\t')
      out += ' ';
    else if (c.bytes == 0 || is_unsafe(c.value))
      out += replacement;
    else
      out += text.substr(0, c.bytes);
    text.remove_prefix(std::max<size_t>(c.bytes, 1));
  }
  return cut ? out + "…" : out;
}

std::string render_text(const Sources& sources, const Diagnostic& d, bool colour) {
  Paint paint{colour};
  std::string out = head(sources, d.where, d.severity, paint) + paint("1", printable(d.message)) +
                    fmt::format(" [{}]\n", id_of(d.code));
  if (d.where.file >= 0)
    out += excerpt(sources, d.where, paint);
  for (const auto& [where, text] : d.notes)
    out += head(sources, where, Severity::note, paint) + printable(text) + '\n';
  if (!d.help.text.empty())
    out += "  help: " + printable(d.help.text) + '\n';
  return out;
}

std::vector<Diagnostic> in_order(std::span<const Diagnostic> list, size_t limit) {
  std::vector<Diagnostic> all(list.begin(), list.end());
  std::stable_sort(all.begin(), all.end(), is_before);
  if (limit == 0 || all.size() <= limit)
    return all;
  std::stable_partition(all.begin(), all.end(),
                        [](const Diagnostic& d) { return d.severity == Severity::error; });
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(limit), all.end());
  std::stable_sort(all.begin(), all.end(), is_before);
  return all;
}

std::string render_text(const Sources& sources, std::span<const Diagnostic> list, bool colour,
                        size_t limit) {
  const std::vector<Diagnostic> shown = in_order(list, limit);
  std::string out;
  for (const Diagnostic& d : shown)
    out += render_text(sources, d, colour);
  const std::string more = and_more(list.size() - shown.size());
  return more.empty() ? out : out + more + "\n";
}

}  // namespace mtf
