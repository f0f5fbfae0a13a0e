// Reads specs from text, for tests: files are written below a folder of their own.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "report/diagnostics_text.h"
#include "spec/spec.h"

struct Reading {
  mtf::Sources sources;
  mtf::Diagnostics diagnostics;
  mtf::Spec spec;

  const mtf::Diagnostic* find(mtf::Code code) const {
    for (const mtf::Diagnostic& d : diagnostics.all())
      if (d.code == code)
        return &d;
    return nullptr;
  }
  std::string text() const { return mtf::render_text(sources, diagnostics.all(), false); }
  // "line:column" of a span
  static std::string at(mtf::SourceSpan s) {
    return std::to_string(s.line) + ":" + std::to_string(s.column);
  }
};

inline std::string test_folder() {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("mtf_spec_test_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  return folder.string();
}

inline std::string write_file(const std::string& name, const std::string& text) {
  std::string path = test_folder() + "/" + name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

inline Reading read_path(const std::string& path, const std::vector<std::string>& sets = {}) {
  Reading r;
  std::vector<mtf::Override> overrides;
  for (size_t i = 0; i < sets.size(); ++i)
    overrides.push_back({sets[i], static_cast<int>(i) + 3});
  r.spec = mtf::read_spec(r.sources, path, overrides, r.diagnostics);
  return r;
}

// `mtf: 1` and a model are put before the text.
inline Reading read_lines(const std::string& text, const std::vector<std::string>& sets = {}) {
  return read_path(write_file("spec.yaml", "mtf: 1\nmodel: {steps: []}\n" + text), sets);
}
