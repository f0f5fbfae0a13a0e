#include "findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <tuple>

#include "base/unicode.h"
#include "plan/make_plan.h"

using namespace mtf;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view expect_mark = "# expect: ", help_mark = "#   help: ",
                           set_mark = "# set: ", command_mark = "# command: ";

// "error layout.axis-reused 9:3 the message"
Finding parse_finding(const std::string& line) {
  std::istringstream in(line);
  Finding f;
  in >> f.severity >> f.code >> f.place >> std::ws;
  std::getline(in, f.message);
  return f;
}

std::string place_of(const Sources& sources, SourceSpan where, const std::string& spec) {
  if (where.file < 0)
    return "-";
  const std::string& name = sources[where.file].name;
  const std::string file = name == spec ? ""
                           : name.starts_with("command line, arg")
                               ? "set:"
                               : fs::path(name).filename().string() + ":";
  return fmt::format("{}{}:{}", file, where.line, where.column);
}

std::vector<Finding> validate(const std::string& spec, const std::vector<std::string>& sets) {
  std::vector<Override> overrides;
  for (const std::string& set : sets)
    overrides.push_back({set, static_cast<int>(overrides.size()) + 1});
  Sources sources;
  Diagnostics diagnostics;
  const Spec read = read_spec(sources, spec, overrides, diagnostics);
  if (make_plan(read, sources, natural_job(read), diagnostics))
    check_inference(read, sources, diagnostics);
  std::vector<Diagnostic> list(diagnostics.all().begin(), diagnostics.all().end());
  auto order = [](const Diagnostic& d) {
    return std::tuple(d.where.file < 0, d.where.file, d.where.line, d.where.column);
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const auto& a, const auto& b) { return order(a) < order(b); });
  std::vector<Finding> found;
  for (const Diagnostic& d : list)
    found.push_back({d.severity == Severity::error ? "error" : "warning",
                     std::string(id_of(d.code)), place_of(sources, d.where, spec), d.message,
                     d.help.text, d.help.edits});
  return found;
}

std::vector<Finding> run(const std::string& command, const std::string& spec) {
  FILE* pipe =
      ::popen(fmt::format("PATH={}:$PATH {} {} 2>&1", MTF_BUILD, command, spec).c_str(), "r");
  std::string output;
  std::array<char, 4096> piece{};
  while (const size_t n = std::fread(piece.data(), 1, piece.size(), pipe))
    output.append(piece.data(), n);
  ::pclose(pipe);
  static const std::regex finding(R"((\d+:\d+): (error|warning): (.*) \[([a-z.-]+)\])");
  std::vector<Finding> found;
  for (std::sregex_iterator m(output.begin(), output.end(), finding), end; m != end; ++m)
    found.push_back({(*m)[2], (*m)[4], (*m)[1], (*m)[3], {}, {}});
  return found;
}

// The byte at which a line and column (both from 1, columns in code points) begin.
size_t offset_of(const std::string& text, int line, int column) {
  size_t at = 0;
  for (int i = 1; i < line; ++i)
    at = text.find('\n', at) + 1;
  for (int i = 1; i < column && at < text.size(); ++i)
    at += std::max<size_t>(decode_utf8(std::string_view(text).substr(at)).bytes, 1);
  return at;
}

}  // namespace

std::string read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Expectations read_expectations(const std::string& spec) {
  Expectations e;
  e.file = fs::exists(spec + ".expect") ? spec + ".expect" : spec;
  std::istringstream in(read_text_file(e.file));
  for (std::string line; std::getline(in, line) && line.starts_with("#"); ++e.lines) {
    if (line.starts_with(set_mark))
      e.sets.push_back(line.substr(set_mark.size()));
    else if (line.starts_with(command_mark))
      e.command = line.substr(command_mark.size());
    else if (line == "# expect: nothing")
      e.nothing = true;
    else if (line.starts_with(expect_mark))
      e.findings.push_back(parse_finding(line.substr(expect_mark.size())));
    else if (line.starts_with(help_mark) && !e.findings.empty())
      e.findings.back().help = line.substr(help_mark.size());
  }
  return e;
}

std::vector<Finding> find(const std::string& spec) {
  const Expectations e = read_expectations(spec);
  return e.command.empty() ? validate(spec, e.sets) : run(e.command, spec);
}

bool agree(const std::vector<Finding>& expected, const std::vector<Finding>& found) {
  return std::equal(expected.begin(), expected.end(), found.begin(), found.end(),
                    [](const Finding& e, const Finding& f) {
                      return e.head() == f.head() && e.help == f.help &&
                             f.message.find(e.message) != std::string::npos;
                    });
}

std::string as_comments(const std::vector<Finding>& findings) {
  std::string out = findings.empty() ? "# expect: nothing\n" : "";
  for (const Finding& f : findings) {
    out += fmt::format("{}{} {}\n", expect_mark, f.head(), f.message);
    if (!f.help.empty())
      out += fmt::format("{}{}\n", help_mark, f.help);
  }
  return out;
}

void rewrite(const Expectations& e, std::vector<Finding> found) {
  std::istringstream in(read_text_file(e.file));
  std::string kept, line, rest;
  const std::string comments = as_comments(found);
  auto kept_lines = static_cast<size_t>(std::count(comments.begin(), comments.end(), '\n'));
  for (size_t i = 0; i < e.lines && std::getline(in, line); ++i)
    if (!line.starts_with(expect_mark) && !line.starts_with(help_mark)) {
      kept += line + "\n";
      ++kept_lines;
    }
  rest.assign(std::istreambuf_iterator<char>(in), {});
  const bool beside = e.file.ends_with(".expect");
  const int moved = beside ? 0 : static_cast<int>(kept_lines) - static_cast<int>(e.lines);
  for (Finding& f : found)
    if (std::isdigit(static_cast<unsigned char>(f.place[0])) &&
        std::stoi(f.place) > static_cast<int>(e.lines))
      f.place = std::to_string(std::stoi(f.place) + moved) + f.place.substr(f.place.find(':'));
  std::ofstream(e.file, std::ios::binary) << as_comments(found) + kept + rest;
}

std::string with_edits(const std::string& text, std::vector<Edit> edits) {
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) {
    return std::tuple(a.where.line, a.where.column) > std::tuple(b.where.line, b.where.column);
  });
  std::string out = text;
  for (const Edit& e : edits) {
    const size_t begin = offset_of(out, e.where.line, e.where.column);
    const size_t end = offset_of(out, e.where.line, e.where.column + e.where.length);
    out.replace(begin, end - begin, e.text);
  }
  return out;
}
