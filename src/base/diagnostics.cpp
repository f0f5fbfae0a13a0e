#include "base/diagnostics.h"

#include <fmt/format.h>

#include "base/text.h"

namespace mtf {
namespace {

struct Row {
  std::string_view id, title;
  Severity severity;
};

constexpr Row rows[] = {
#define MTF_DIAGNOSTIC(name, id, severity, title) {id, title, Severity::severity},
#include "base/diagnostics.def"
#undef MTF_DIAGNOSTIC
};

constexpr Code codes[] = {
#define MTF_DIAGNOSTIC(name, id, severity, title) Code::name,
#include "base/diagnostics.def"
#undef MTF_DIAGNOSTIC
};

const Row& row(Code code) {
  return rows[static_cast<size_t>(code)];
}

}  // namespace

std::string_view id_of(Code code) {
  return row(code).id;
}
std::string_view title_of(Code code) {
  return row(code).title;
}
Severity severity_of(Code code) {
  return row(code).severity;
}

std::span<const Code> all_codes() {
  return codes;
}
std::optional<Code> code_of(std::string_view id) {
  for (Code code : codes)
    if (id_of(code) == id)
      return code;
  return std::nullopt;
}

Help suggest(std::string_view word, SourceSpan where, std::span<const std::string> known,
             std::string otherwise) {
  std::vector<std::string> near = nearest(word, known);
  const bool certain = near.size() == 1 && word.size() >= 3;  // w1 need not be meant by b1
  if (near.empty())
    near = abbreviated(word, known);
  if (near.empty() || near.size() > 3)
    return otherwise;
  std::vector<std::string> quoted;
  for (const std::string& name : near)
    quoted.push_back(fmt::format("'{}'", name));
  std::string words = fmt::format("did you mean {}?", listed(quoted, "or"));
  const bool whole = where.length == static_cast<int>(word.size());  // names are ASCII
  return whole && certain ? Help(std::move(words), {{where, std::move(near[0])}})
                          : Help(std::move(words));
}

void Diagnostics::add(Diagnostic d) {
  if (!seen_.emplace(d.code, d.where.file, d.where.line, d.where.column, d.message).second)
    return;
  errors_ += d.severity == Severity::error;
  list_.push_back(std::move(d));
}

}  // namespace mtf
