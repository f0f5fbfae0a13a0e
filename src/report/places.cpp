#include "report/places.h"

#include <algorithm>

#include "base/unicode.h"
#include "report/diagnostics_text.h"

namespace mtf {
namespace {

constexpr size_t stride = 64;    // code points between marks
constexpr size_t context = 160;  // bytes of a line that a snippet shows on each side

size_t step(std::string_view text, size_t at) {
  return std::max<size_t>(decode_utf8(text.substr(at)).bytes, 1);
}

}  // namespace

Places::Places(const Sources& sources) {
  for (int f = 0; f < sources.size(); ++f) {
    Index& index = files_.emplace_back();
    index.text = sources[f].text;
    index.lines.push_back({});
    Point p;
    for (; p.byte < index.text.size(); ++p.code_point) {
      if (p.code_point % stride == 0)
        index.marks.push_back(p.byte);
      const bool breaks = index.text[p.byte] == '\n';
      p.byte += step(index.text, p.byte);
      if (breaks)
        index.lines.push_back({p.byte, p.code_point + 1});
    }
    index.lines.push_back(p);
  }
}

Places::Point Places::Index::at(size_t code_point) const {
  if (code_point >= lines.back().code_point)
    return lines.back();
  size_t byte = marks[code_point / stride];
  for (size_t left = code_point % stride; left > 0; --left)
    byte += step(text, byte);
  return {byte, code_point};
}

size_t Places::Index::line_of(SourceSpan span) const {
  return std::min(static_cast<size_t>(std::max(span.line, 1)), lines.size() - 1) - 1;
}

Places::Point Places::Index::line_end(size_t line) const {
  Point end = lines[line + 1];
  for (const char c : {'\n', '\r'})
    if (end.byte > lines[line].byte && text[end.byte - 1] == c)
      end = {end.byte - 1, end.code_point - 1};
  return end;
}

Region Places::region(SourceSpan span) const {
  const Index& index = files_[static_cast<size_t>(span.file)];
  const size_t line = index.line_of(span);
  const Point begin = index.lines[line], end = index.line_end(line);
  auto position = [&](size_t code_point) {
    const Point p = index.at(std::min(code_point, end.code_point));
    return Position{static_cast<int>(line) + 1,
                    static_cast<int>(p.code_point - begin.code_point) + 1, p.byte};
  };
  const size_t first = begin.code_point + static_cast<size_t>(std::max(span.column, 1)) - 1;
  return {position(first), position(first + static_cast<size_t>(std::max(span.length, 0)))};
}

Snippet Places::snippet(SourceSpan span) const {
  const Index& index = files_[static_cast<size_t>(span.file)];
  const Region r = region(span);
  const size_t line = index.line_of(span);
  size_t begin = std::max(index.lines[line].byte, r.start.byte - std::min(context, r.start.byte));
  size_t end = std::min(index.line_end(line).byte, r.start.byte + 2 * context);
  while (begin < r.start.byte && is_continuation_byte(index.text[begin]))
    ++begin;
  while (end > r.start.byte && end < index.text.size() && is_continuation_byte(index.text[end]))
    --end;
  const size_t covered = std::min(r.end.byte, end);
  Snippet s{printable(index.text.substr(begin, r.start.byte - begin)), 0, 0};
  s.begin = s.code.size();
  s.code += printable(index.text.substr(r.start.byte, covered - r.start.byte));
  s.end = s.code.size();
  s.code += printable(index.text.substr(covered, end - covered));
  return s;
}

}  // namespace mtf
