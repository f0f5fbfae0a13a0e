// A user's mistakes as values: phases add them, borders between phases stop on errors, and cli/
// prints them. Codes are listed once, in diagnostics.def.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/source.h"

namespace mtf {

enum class Severity : uint8_t { note, warning, error };

enum class Code : uint16_t {
#define MTF_DIAGNOSTIC(name, id, severity, title) name,
#include "base/diagnostics.def"
#undef MTF_DIAGNOSTIC
};

std::string_view id_of(Code);     // "layout.axis-reused"
Severity severity_of(Code);       // what the code is by default
std::string_view title_of(Code);  // one sentence, for lists of codes
std::span<const Code> all_codes();
std::optional<Code> code_of(std::string_view id);

// One change to the text of a source: what stands at `where` becomes `text`.
struct Edit {
  SourceSpan where;
  std::string text;
};

// What to do about a mistake, in words, and as edits where one change is certain to be meant.
struct Help {
  Help() = default;
  Help(std::string words) : text(std::move(words)) {}
  Help(const char* words) : text(words) {}
  Help(std::string words, std::vector<Edit> changes)
      : text(std::move(words)), edits(std::move(changes)) {}

  // What the one edit writes; "" if there is none. Who reports a name goes on with the name that is
  // meant, so that the mistakes behind this one are found too.
  std::string meant() const { return edits.size() == 1 ? edits[0].text : ""; }

  std::string text;  // empty if nothing can be said
  std::vector<Edit> edits;
};

// "did you mean 'batch'?", with its edit, if one of the known words is near; without an edit if
// several are, or if the word may be short for one; else `otherwise`.
Help suggest(std::string_view word, SourceSpan where, std::span<const std::string> known,
             std::string otherwise = {});

struct Diagnostic {
  Code code;
  std::string message;  // one sentence in the user's own names and numbers
  SourceSpan where;
  std::vector<std::pair<SourceSpan, std::string>> notes;
  Help help;
  Severity severity = severity_of(code);
};

class Diagnostics {  // collects; never throws, never prints
 public:
  void add(Diagnostic d);  // what is there already, in equal words at the same place, is dropped
  bool has_errors() const { return errors_ > 0; }
  int errors() const { return errors_; }
  std::span<const Diagnostic> all() const { return list_; }

 private:
  std::vector<Diagnostic> list_;
  std::set<std::tuple<Code, int, int, int, std::string>> seen_;
  int errors_ = 0;
};

}  // namespace mtf
