#include "base/diagnostics.h"

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

void Diagnostics::add(Diagnostic d) {
  errors_ += d.severity == Severity::error;
  list_.push_back(std::move(d));
}

}  // namespace mtf
