// Spans → lines, columns and bytes, each in constant time after one pass over a source, however
// long its lines are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace mtf {

struct Position {
  int line = 0, column = 0;  // from 1, in code points
  size_t byte = 0;           // from 0
};

struct Region {
  Position start, end;  // one line; `end` is the first place after it
};

// The text around a span: of a long line the part near the span. Printable.
struct Snippet {
  std::string code;
  size_t begin = 0, end = 0;  // bytes of `code` that the span covers
};

class Places {
 public:
  explicit Places(const Sources&);
  Region region(SourceSpan) const;  // the span must have a place; what reaches past its line is cut
  Snippet snippet(SourceSpan) const;

 private:
  struct Point {
    size_t byte = 0, code_point = 0;
  };
  struct Index {
    std::string_view text;
    std::vector<Point> lines;   // where each begins, and the end of the text
    std::vector<size_t> marks;  // the byte of every 64th code point

    Point at(size_t code_point) const;
    size_t line_of(SourceSpan) const;  // from 0
    Point line_end(size_t line) const;
  };
  std::vector<Index> files_;
};

}  // namespace mtf
