// SARIF 2.1.0, OASIS Standard. Comments name its sections.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/diagnostics_formats.h"
#include "report/diagnostics_text.h"
#include "report/explanations.h"
#include "report/places.h"

namespace mtf {
namespace {

using nlohmann::ordered_json;

ordered_json text(std::string words) {
  return {{"text", std::move(words)}};
}

ordered_json rule(Code code) {
  const std::string page(explanation(code).value_or(title_of(code)));
  return {{"id", id_of(code)},
          {"shortDescription", text(std::string(title_of(code)))},
          {"fullDescription", text(std::string(title_of(code)))},
          {"help", {{"text", page}, {"markdown", page}}},
          {"defaultConfiguration", {{"level", word_of(severity_of(code))}}}};
}

// RFC 3986: all but unreserved characters and the separators of a path.
std::string percent_encoded(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

ordered_json artifact(const std::string& name) {
  const std::string path = plain_path(name);
  if (path.starts_with('/'))
    return {{"uri", "file://" + percent_encoded(path)}};
  return {{"uri", percent_encoded(path)}, {"uriBaseId", "%SRCROOT%"}};
}

// The results of one file. Spans in the library or on the command line have no artifact: they are
// logical locations (3.33), and their place is in the message.
class Results {
 public:
  explicit Results(const FileReport& report) : report_(report), places_(report.sources) {}

  ordered_json all() {
    ordered_json list = ordered_json::array();
    for (const Diagnostic& d : report_.diagnostics)
      list.push_back(result(d));
    return list;
  }

 private:
  ordered_json result(const Diagnostic& d) {
    ordered_json r = {{"ruleId", id_of(d.code)},
                      {"ruleIndex", static_cast<int>(d.code)},
                      {"level", word_of(d.severity)}};
    std::string message = placed_message(report_.sources, d);
    if (!d.help.text.empty())
      message += "\n" + printable(d.help.text);
    r["message"] = text(std::move(message));
    r["locations"] = ordered_json::array({primary_location(d)});
    if (!d.notes.empty()) {
      r["relatedLocations"] = ordered_json::array();
      for (const auto& [where, words] : d.notes)
        r["relatedLocations"].push_back(related_location(where, words));
    }
    r["partialFingerprints"] = {{"mtfFinding/v1", fingerprint(d)}};
    if (has_fix(d))
      r["fixes"] = ordered_json::array({fix(d)});
    return r;
  }

  ordered_json region(SourceSpan where) const {
    const Region r = places_.region(where);
    return {{"startLine", r.start.line},
            {"startColumn", r.start.column},
            {"endLine", r.end.line},
            {"endColumn", r.end.column}};
  }

  const SourceFile& source(SourceSpan s) const { return report_.sources[s.file]; }
  bool in_file(SourceSpan s) const { return s.file >= 0 && source(s).kind == SourceKind::file; }

  ordered_json physical(SourceSpan where) const {
    ordered_json p = {{"artifactLocation", artifact(source(where).name)}};
    p["region"] = region(where);
    return p;
  }

  void add_logical(ordered_json& location, SourceSpan where) const {
    if (where.file >= 0 && !in_file(where))
      location["logicalLocations"] =
          ordered_json::array({{{"fullyQualifiedName", printable(source(where).name)}}});
  }

  // Services show only results in files: one without a place is at the first line of its spec.
  ordered_json primary_location(const Diagnostic& d) const {
    ordered_json location = ordered_json::object();
    const SourceSpan where = place_in_file(report_.sources, d);
    if (where.file >= 0)
      location["physicalLocation"] = physical(where);
    else if (report_.kind == SourceKind::file)
      location["physicalLocation"] = {{"artifactLocation", artifact(report_.name)},
                                      {"region", {{"startLine", 1}}}};
    add_logical(location, d.where);
    return location;
  }

  ordered_json related_location(SourceSpan where, const std::string& words) const {
    ordered_json location = ordered_json::object();
    const bool elsewhere = where.file >= 0 && !in_file(where);
    if (in_file(where))
      location["physicalLocation"] = physical(where);
    add_logical(location, where);
    location["message"] =
        text((elsewhere ? place_of(report_.sources, where) + ": " : "") + printable(words));
    return location;
  }

  bool has_fix(const Diagnostic& d) const {
    const auto& edits = d.help.edits;
    return !edits.empty() &&
           std::all_of(edits.begin(), edits.end(), [&](const Edit& e) { return in_file(e.where); });
  }

  ordered_json fix(const Diagnostic& d) const {
    std::map<int, ordered_json> replacements;  // by file
    for (const Edit& e : d.help.edits)
      replacements[e.where.file].push_back(
          {{"deletedRegion", region(e.where)}, {"insertedContent", text(e.text)}});
    ordered_json changes = ordered_json::array();
    for (auto& [file, list] : replacements)
      changes.push_back({{"artifactLocation", artifact(report_.sources[file].name)},
                         {"replacements", std::move(list)}});
    return {{"description", text(printable(d.help.text))}, {"artifactChanges", std::move(changes)}};
  }

  // The same when lines are added above: FNV-1a of the code and the text of the line, and how many
  // there were alike before.
  std::string fingerprint(const Diagnostic& d) {
    std::string line = d.where.file >= 0 ? places_.snippet(d.where).code : printable(d.message);
    const size_t begin = line.find_first_not_of(' '), end = line.find_last_not_of(' ');
    line = begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
    uint64_t hash = 0xcbf29ce484222325;
    for (const char c : fmt::format("{}\n{}", id_of(d.code), line))
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return fmt::format("{:016x}:{}", hash, ++alike_[hash]);
  }

  const FileReport& report_;
  const Places places_;
  std::map<uint64_t, int> alike_;
};

ordered_json notification(std::string_view level, const FileReport& report, std::string words) {
  ordered_json n = {{"level", level}, {"message", text(std::move(words))}};
  if (report.kind == SourceKind::file)
    n["locations"] = ordered_json::array(
        {{{"physicalLocation", {{"artifactLocation", artifact(report.name)}}}}});
  return n;
}

ordered_json invocation(std::span<const FileReport> reports, int exit_code) {
  bool all_read = true;
  ordered_json notifications = ordered_json::array();
  for (const FileReport& r : reports) {
    all_read = all_read && r.failure.empty();
    if (!r.failure.empty())
      notifications.push_back(notification("error", r, printable(r.failure)));
    if (r.omitted > 0)
      notifications.push_back(notification("note", r, and_more(r.omitted)));
  }
  ordered_json i = {{"executionSuccessful", all_read}, {"exitCode", exit_code}};
  if (!notifications.empty())
    i["toolExecutionNotifications"] = std::move(notifications);
  return i;
}

}  // namespace

std::string as_sarif(std::span<const FileReport> reports, std::string_view version, int exit_code) {
  ordered_json rules = ordered_json::array(), results = ordered_json::array();
  for (const Code code : all_codes())
    rules.push_back(rule(code));
  for (const FileReport& r : reports)
    for (ordered_json& result : Results(r).all())
      results.push_back(std::move(result));
  ordered_json run = {
      {"tool", {{"driver", {{"name", "mtf"}, {"version", version}, {"rules", std::move(rules)}}}}},
      {"invocations", ordered_json::array({invocation(reports, exit_code)})},
      {"originalUriBaseIds",
       {{"%SRCROOT%", {{"description", text("the directory in which mtf was started")}}}}},
      {"columnKind", "unicodeCodePoints"},
      {"results", std::move(results)}};
  ordered_json log = {{"$schema",
                       "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                       "sarif-schema-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", ordered_json::array({std::move(run)})}};
  return log.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace mtf
