// Where text came from: files (and command-line arguments) and spans within them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace mtf {

// A place in a source; lines and columns count from 1, columns in code points. file -1: no place.
struct SourceSpan {
  int file = -1, line = 0, column = 0, length = 0;
};

enum class SourceKind : uint8_t { file, other };  // other: the command line, the library, stdin

struct SourceFile {
  std::string name;  // as the user wrote it, or "command line, argument N", or "library:NAME"
  std::string text;
  SourceKind kind;
};

class Sources {
 public:
  int add(std::string name, std::string text, SourceKind = SourceKind::file);
  const SourceFile& operator[](int file) const { return files_[static_cast<size_t>(file)]; }
  int size() const { return static_cast<int>(files_.size()); }
  std::string_view line(SourceSpan) const;  // the text of the span's line, without its end

 private:
  std::deque<SourceFile> files_;
};

}  // namespace mtf
