// JSON in the shape of Terraform's `validate -json`, format 1.0: `code`, `spec`, `related`,
// `edits`, `files` and `omitted` are ours.
#include <nlohmann/json.hpp>

#include "report/diagnostics_formats.h"
#include "report/diagnostics_text.h"
#include "report/places.h"

namespace mtf {
namespace {

using nlohmann::ordered_json;

std::string dump(const ordered_json& j, int indent) {
  return j.dump(indent, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json position(const Position& p) {
  return {{"line", p.line}, {"column", p.column}, {"byte", p.byte}};
}

ordered_json range(const FileReport& report, const Places& places, SourceSpan where) {
  const Region r = places.region(where);
  return {{"filename", printable(report.sources[where.file].name)},
          {"start", position(r.start)},
          {"end", position(r.end)}};
}

ordered_json snippet(const Places& places, SourceSpan where) {
  const Snippet s = places.snippet(where);
  return {{"context", nullptr},
          {"code", s.code},
          {"start_line", where.line},
          {"highlight_start_offset", s.begin},
          {"highlight_end_offset", s.end},
          {"values", ordered_json::array()}};
}

ordered_json diagnostic(const FileReport& report, const Places& places, const Diagnostic& d) {
  ordered_json j = {{"severity", word_of(d.severity)},
                    {"code", id_of(d.code)},
                    {"summary", printable(d.message)},
                    {"detail", printable(d.help.text)},
                    {"spec", printable(report.name)}};
  if (d.where.file >= 0) {
    j["range"] = range(report, places, d.where);
    j["snippet"] = snippet(places, d.where);
  }
  j["related"] = ordered_json::array();
  for (const auto& [where, text] : d.notes) {
    ordered_json& note = j["related"].emplace_back();
    note["summary"] = printable(text);
    if (where.file >= 0)
      note["range"] = range(report, places, where);
  }
  j["edits"] = ordered_json::array();
  for (const Edit& e : d.help.edits)
    j["edits"].push_back({{"range", range(report, places, e.where)}, {"text", e.text}});
  return j;
}

ordered_json diagnostics(const FileReport& report) {
  ordered_json all = ordered_json::array();
  if (!report.failure.empty())
    all.push_back({{"severity", "error"},
                   {"code", nullptr},
                   {"summary", printable(report.failure)},
                   {"detail", ""},
                   {"spec", printable(report.name)},
                   {"related", ordered_json::array()},
                   {"edits", ordered_json::array()}});
  const Places places(report.sources);
  for (const Diagnostic& d : report.diagnostics)
    all.push_back(diagnostic(report, places, d));
  return all;
}

ordered_json verdict(const FileReport& report) {
  return {{"filename", printable(report.name)}, {"valid", report.exit_code == 0},
          {"exit_code", report.exit_code},      {"error_count", report.errors},
          {"warning_count", report.warnings},   {"omitted", report.omitted}};
}

}  // namespace

std::string as_json(std::span<const FileReport> reports) {
  bool valid = true;
  size_t errors = 0, warnings = 0;
  ordered_json list = ordered_json::array(), files = ordered_json::array();
  for (const FileReport& r : reports) {
    valid = valid && r.exit_code == 0;
    errors += r.errors;
    warnings += r.warnings;
    for (ordered_json& d : diagnostics(r))
      list.push_back(std::move(d));
    files.push_back(verdict(r));
  }
  return dump({{"format_version", "1.0"},
               {"valid", valid},
               {"error_count", errors},
               {"warning_count", warnings},
               {"diagnostics", std::move(list)},
               {"files", std::move(files)}},
              2);
}

std::string as_json_lines(const FileReport& report) {
  auto line = [](std::string_view type, const ordered_json& object) {
    ordered_json j = {{"type", type}};
    j.update(object);
    return dump(j, -1);
  };
  std::string out;
  for (const ordered_json& d : diagnostics(report))
    out += line("diagnostic", d);
  return out + line("verdict", verdict(report));
}

}  // namespace mtf
