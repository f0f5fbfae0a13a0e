#include "io/metrics.h"

#include <cmath>

#include "temp_dir.h"

using namespace mtf;

TEST_CASE("metrics: lines are appended, and a resumed run continues after its step") {
  TempDir dir;
  const std::string path = dir / "metrics.jsonl";
  {
    MetricsLog log(path, -1);
    for (int64_t step = 1; step <= 3; ++step)
      log.append({{"step", step}, {"loss", 0.1 * static_cast<double>(step)}});
  }
  CHECK(read_file(path) ==
        "{\"step\":1,\"loss\":0.1}\n{\"step\":2,\"loss\":0.2}\n"
        "{\"step\":3,\"loss\":0.30000000000000004}\n");
  write_file(path, read_file(path) + "{\"step\":4,\"lo");  // killed
  {
    MetricsLog log(path, 2);
    log.append({{"step", int64_t{3}}, {"loss", NAN}, {"note", std::string("a\"b\xff")}});
  }
  CHECK(read_file(path) ==
        "{\"step\":1,\"loss\":0.1}\n{\"step\":2,\"loss\":0.2}\n"
        "{\"step\":3,\"loss\":null,\"note\":\"a\\\"b\xEF\xBF\xBD\"}\n");
  MetricsLog fresh(path, -1);
  CHECK(read_file(path).empty());
}

TEST_CASE("metrics: run.json holds fields and tables") {
  TempDir dir;
  write_json(dir / "run.json", {{"name", std::string("lm")}, {"ranks", int64_t{4}}},
             {{"instructions", {{{"bytes", int64_t{12}}}, {{"bytes", int64_t{0}}}}}});
  CHECK(
      read_file(dir / "run.json") ==
      "{\n  \"name\": \"lm\",\n  \"ranks\": 4,\n  \"instructions\": [\n    {\n      \"bytes\": 12\n"
      "    },\n    {\n      \"bytes\": 0\n    }\n  ]\n}\n");
}
