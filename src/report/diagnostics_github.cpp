// Workflow commands of GitHub Actions: `::error
// file=F,line=L,endLine=L,col=C,endColumn=E,title=T::M`.
#include <fmt/format.h>

#include "report/diagnostics_formats.h"
#include "report/diagnostics_text.h"
#include "report/places.h"

namespace mtf {
namespace {

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) == std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string in_message(std::string_view text) {
  return escaped(text, "%\r\n");
}
std::string in_property(std::string_view text) {
  return escaped(text, "%\r\n:,");
}

std::string message(const Sources& sources, const Diagnostic& d) {
  std::string out = placed_message(sources, d);
  for (const auto& [where, text] : d.notes) {
    const std::string place = place_of(sources, where);
    out += fmt::format("\n{}{}note: {}", place, place.empty() ? "" : ": ", printable(text));
  }
  if (!d.help.text.empty())
    out += "\nhelp: " + printable(d.help.text);
  return out;
}

std::string_view level_of(Severity s) {
  return s == Severity::note ? "notice" : word_of(s);
}

// The properties that place an annotation in a file; without a place, in the file as a whole.
std::string place(const FileReport& report, const Places& places, const Diagnostic& d) {
  const SourceSpan where = place_in_file(report.sources, d);
  if (where.file < 0)
    return report.kind == SourceKind::file
               ? fmt::format("file={},", in_property(printable(plain_path(report.name))))
               : "";
  const Region r = places.region(where);
  return fmt::format("file={},line={},endLine={},col={},endColumn={},",
                     in_property(printable(plain_path(report.sources[where.file].name))),
                     r.start.line, r.end.line, r.start.column, r.end.column);
}

}  // namespace

std::string as_github(const FileReport& report) {
  std::string out;
  if (!report.failure.empty())
    out += fmt::format("::error title=mtf::{}\n", in_message(printable(report.failure)));
  const Places places(report.sources);
  for (const Diagnostic& d : report.diagnostics)
    out += fmt::format("::{} {}title={}::{}\n", level_of(d.severity), place(report, places, d),
                       in_property(id_of(d.code)), in_message(message(report.sources, d)));
  if (report.omitted > 0)
    out += fmt::format("::notice title=mtf::{}\n",
                       in_message(printable(report.name) + ": " + and_more(report.omitted)));
  return out;
}

}  // namespace mtf
