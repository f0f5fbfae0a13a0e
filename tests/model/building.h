// Builds models from spec files and from text, for tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "model/phases.h"
#include "report/diagnostics_text.h"

struct Built {
  mtf::Sources sources;
  mtf::Diagnostics diagnostics;
  mtf::Spec spec;
  mtf::Numerics numerics;
  std::optional<mtf::Model> model;

  std::string text() const { return mtf::render_text(sources, diagnostics.all(), false); }
  // "code line:column" of every diagnostic, in order
  std::vector<std::string> found() const {
    std::vector<std::string> out;
    for (const mtf::Diagnostic& d : diagnostics.all())
      out.push_back(std::string(mtf::id_of(d.code)) + " " + std::to_string(d.where.line) + ":" +
                    std::to_string(d.where.column));
    return out;
  }
};

inline Built build_path(const std::string& path, const std::vector<std::string>& sets = {},
                        mtf::BuildOptions options = {}) {
  Built b;
  std::vector<mtf::Override> overrides;
  for (size_t i = 0; i < sets.size(); ++i)
    overrides.push_back({sets[i], static_cast<int>(i) + 3});
  b.spec = mtf::read_spec(b.sources, path, overrides, b.diagnostics);
  b.numerics = mtf::numerics_of(b.spec.numerics);
  b.model = mtf::build_model(b.spec, b.sources, b.numerics, b.diagnostics, options);
  return b;
}

inline Built build_file(const std::string& name, const std::vector<std::string>& sets = {}) {
  return build_path(std::string(MTF_SPECS) + "/" + name, sets);
}

inline Built build_text(const std::string& text, mtf::BuildOptions options = {}) {
  auto path = std::filesystem::temp_directory_path() /
              ("mtf_model_test_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path, std::ios::binary) << text;
  Built b = build_path(path.string(), {}, options);
  std::filesystem::remove(path);
  return b;
}
