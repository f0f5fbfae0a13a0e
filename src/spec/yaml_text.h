// The text of a YAML file as such: places in it, bytes that cannot stand in it, and what its writer
// may have meant where it is not YAML.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"

namespace mtf {

// Byte offsets of one text → lines and columns. yaml-cpp counts columns in bytes, spans in code
// points; a table keeps this linear for a file that is one long line.
struct Made {       // an edit of the text
  size_t end = 0;   // byte behind it
  int columns = 0;  // by how many columns it moved the rest of its line
};

class Places {
 public:
  // Offsets count from byte `base`. The text is that of the file with edits, in their order, of
  // which no place takes notice.
  Places(int file, std::string_view text, size_t base, const std::vector<Made>& edits = {});

  SourceSpan span(size_t at, size_t bytes) const;
  std::pair<size_t, size_t> bytes_of(
      SourceSpan) const;  // first byte of the whole text, and how many
  std::string_view rest(size_t at) const {
    return text_.substr(std::min(base_ + at, text_.size()));
  }
  std::string_view before(size_t at) const { return text_.substr(0, base_ + at); }
  std::string_view text() const { return text_.substr(base_); }

 private:
  int file_;
  std::string_view text_;
  size_t base_;
  std::vector<int> line_, column_;
};

// Bytes of the quoted scalar at the start of `text`, both quotes included; 0 if it never closes.
size_t quoted_bytes(std::string_view text);

// Is the text UTF-8, with line ends and without control characters? False after a diagnostic.
bool check_bytes(const Places&, Diagnostics&);

// `said` is what yaml-cpp says of byte `at`.
Diagnostic explain_syntax(const Places&, size_t at, const std::string& said);

// How to close the brackets that are open, the innermost last, where byte `at` cannot stand; empty
// if that is not plain.
Help help_to_close(const Places&, size_t at, const std::vector<size_t>& open);

// For a document that is one scalar: `mtf:1` is no map.
Diagnostic explain_no_map(const Places&, SourceSpan scalar);

// A spec does not read the environment: `${NAME}` stands in the text at byte `at`, in the value of
// the key `path`, if that is known.
Diagnostic explain_environment(const Places&, size_t at, const std::string& path);

}  // namespace mtf
