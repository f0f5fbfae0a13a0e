#include "report/diagnostics_formats.h"

#include <filesystem>

#include "report/diagnostics_text.h"

namespace mtf {
namespace {

bool is_in_file(const Sources& sources, SourceSpan s) {
  return s.file >= 0 && sources[s.file].kind == SourceKind::file;
}

}  // namespace

SourceSpan place_in_file(const Sources& sources, const Diagnostic& d) {
  if (is_in_file(sources, d.where))
    return d.where;
  for (const auto& [where, text] : d.notes)
    if (is_in_file(sources, where))
      return where;
  return {};
}

std::string placed_message(const Sources& sources, const Diagnostic& d) {
  const bool elsewhere = d.where.file >= 0 && !is_in_file(sources, d.where);
  return (elsewhere ? place_of(sources, d.where) + ": " : "") + printable(d.message);
}

std::string plain_path(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

}  // namespace mtf
