// JSON lines and small JSON files.
#include "io/metrics.h"

#include <nlohmann/json.hpp>

#include "io/json.h"

namespace mtf {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json object_of(const Fields& fields) {
  ordered_json object = ordered_json::object();
  for (const auto& [key, value] : fields)
    std::visit([&, k = key](const auto& v) { object[k] = v; }, value);
  return object;
}

// Is this a whole line of a step that stays?
bool stays(const std::string& line, int64_t last_step) {
  const json parsed = json::parse(line, nullptr, false);
  if (!parsed.is_object())
    return false;
  const auto step = parsed.find("step");
  return step == parsed.end() || (step->is_number_integer() && step->get<int64_t>() <= last_step);
}

File continued(const std::string& path, int64_t last_step) {
  constexpr int64_t largest = int64_t{1} << 30;
  std::string kept;
  if (last_step >= 0 && exists(path)) {
    const std::string text = File::open(path).read_all(largest);
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      if (const std::string line = text.substr(begin, end - begin); stays(line, last_step))
        kept += line + "\n";
  }
  write_atomically(path, kept);
  return File::append_to(path);
}

}  // namespace

MetricsLog::MetricsLog(const std::string& path, int64_t last_step)
    : file_(continued(path, last_step)) {}

void MetricsLog::append(const Fields& fields) {
  file_.write(dump_json(object_of(fields)) + "\n");
}

void write_json(const std::string& path, const Fields& fields, const std::vector<Table>& tables) {
  ordered_json object = object_of(fields);
  for (const Table& table : tables) {
    object[table.name] = ordered_json::array();
    for (const Fields& row : table.rows)
      object[table.name].push_back(object_of(row));
  }
  write_atomically(path, dump_json(object, 2) + "\n");
}

}  // namespace mtf
