// Specs, from a file or from text, to plans.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/phases.h"
#include "plan/make_plan.h"

namespace mtf {

struct Planned {
  Spec spec;
  std::optional<Plan> plan;
  std::string messages;           // errors, one a line
  std::vector<Diagnostic> found;  // warnings too
};

// `overrides` as on the command line: "mesh={all: 4}". The spec is a path below the project.
Planned plan_file(const std::string& path, const std::vector<std::string>& overrides,
                  Job job = Job::train);
Planned plan_text(const std::string& yaml, const std::vector<std::string>& overrides,
                  Job job = Job::train);

// The plan for training without fusion and packing, each node an instruction.
Planned plan_unfused(const std::string& path, const std::vector<std::string>& overrides);

// A file with this text for as long as it lives.
class TextFile {
 public:
  explicit TextFile(const std::string& text);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The instructions of one kind, printed with their spec lines left out.
std::vector<std::string> collectives(const Program&);

}  // namespace mtf
