// What a run reports as files: metrics.jsonl, a line at a time, and run.json, as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/file.h"

namespace mtf {

// An object of JSON, in order. Numbers that are not finite are written as null.
using Fields = std::vector<std::pair<std::string, std::variant<int64_t, double, std::string>>>;

class MetricsLog {
 public:
  // Continues the file after `last_step`: lines of later steps (field "step") and a line that was
  // cut short are dropped, so that a resumed run leaves the file that an uninterrupted one would.
  // -1: from nothing.
  MetricsLog(const std::string& path, int64_t last_step);
  void append(const Fields&);  // one line, in the file when this returns

 private:
  File file_;
};

struct Table {
  std::string name;
  std::vector<Fields> rows;
};

// An object with these fields, and each table as a list of objects; the file is replaced at once.
void write_json(const std::string& path, const Fields&, const std::vector<Table>& tables = {});

}  // namespace mtf
