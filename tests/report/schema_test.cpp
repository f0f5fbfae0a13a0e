// The JSON Schema and the reader say the same of where keys and values stand: over all specs that
// are one change away from good ones.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "model/files.h"
#include "model/library.h"
#include "model/phases.h"
#include "report/schema.h"
#include "spec/language.h"
#include "spec/reading.h"
#include "specs.h"

using namespace mtf;
using nlohmann::json;

namespace {

// Scalars by the YAML 1.2 core schema, as an editor reads them.
json to_json(const YamlNode& node) {
  static const std::regex integer("[-+]?[0-9]+"),
      real("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?");
  switch (node.kind) {
    case YamlNode::Kind::null:
      return nullptr;
    case YamlNode::Kind::list: {
      json list = json::array();
      for (const YamlNode& item : node.items)
        list.push_back(to_json(item));
      return list;
    }
    case YamlNode::Kind::map: {
      json map = json::object();
      for (const auto& [key, value] : node.entries)
        map[key.text] = to_json(value);
      return map;
    }
    case YamlNode::Kind::scalar:
      break;
  }
  if (node.quoted)
    return node.text;
  if (node.text == "true" || node.text == "false")
    return node.text == "true";
  if (std::regex_match(node.text, integer) && node.text.size() < 19)
    return std::stoll(node.text);
  if (std::regex_match(node.text, real))
    return std::stod(node.text);
  return node.text;
}

class Schema {
 public:
  explicit Schema(const std::string& text = spec_schema()) {
    const json parsed = json::parse(text);
    valijson::adapters::NlohmannJsonAdapter adapter(parsed);
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, schema_);
  }
  bool accepts(const json& document) {
    valijson::adapters::NlohmannJsonAdapter adapter(document);
    return valijson::Validator().validate(schema_, adapter, nullptr);
  }
  bool accepts(const std::string& yaml) { return accepts(to_json(parsed(yaml))); }

  static YamlNode parsed(const std::string& yaml) {
    Sources sources;
    Diagnostics diagnostics;
    YamlNode root = parse_yaml(sources, sources.add("test", yaml), diagnostics);
    INFO(yaml);
    REQUIRE(!diagnostics.has_errors());
    return root;
  }

 private:
  valijson::Schema schema_;
};

enum class Verdict { good, structure, other };

// What the reader and the model builder say: structure if one of the codes is about where keys
// and values stand.
Verdict read(const std::string& yaml, std::string& messages) {
  const std::string path = write_file("spec.yaml", yaml);
  Sources sources;
  Diagnostics diagnostics;
  const Spec spec = read_spec(sources, path, {}, diagnostics);
  if (spec.buildable)
    build_model(spec, sources, numerics_of(spec.numerics), diagnostics, {});
  messages = render_text(sources, diagnostics.all(), false);
  for (const Diagnostic& d : diagnostics.all())
    if (d.code == Code::spec_unknown_key || d.code == Code::spec_missing_key ||
        d.code == Code::spec_type || d.code == Code::spec_range)
      return Verdict::structure;
  return diagnostics.has_errors() ? Verdict::other : Verdict::good;
}

void add_paths(const YamlNode& node, const std::string& prefix, std::set<std::string>& paths) {
  for (const auto& [key, value] : node.entries) {
    paths.insert(prefix + key.text);
    add_paths(value, prefix + key.text + ".", paths);
  }
}

}  // namespace

TEST_CASE("the full specs are good and hold every key of the language") {
  Schema schema;
  std::set<std::string> paths;
  for (const std::string& text : full_specs()) {
    std::string messages;
    const Verdict verdict = read(text, messages);
    INFO(messages);
    CHECK(verdict == Verdict::good);
    CHECK(schema.accepts(text));
    add_paths(Schema::parsed(text), "", paths);
  }
  std::map<const KeyRow*, bool> covered;  // several paths may lead to a row
  std::map<const KeyRow*, std::string> name;
  for_each_key([&](const std::string& path, const KeyRow& row) {
    // Names that users choose stand for the capitals: dims.DIM.size.
    const std::regex pattern(
        std::regex_replace(path, std::regex("\\.[A-Z]+(?=\\.|$)"), "\\.[^.]+"));
    const bool there = std::any_of(paths.begin(), paths.end(), [&](const std::string& p) {
      return std::regex_match(p, pattern);
    });
    covered[&row] = covered[&row] || there || path == "extends";
    name[&row] = path;
  });
  for (const auto& [row, there] : covered) {
    INFO(name[row]);
    CHECK(there);
  }
}

// What a schema cannot know: where options take their values, the limits of an op's attributes,
// what must divide what, whether a base spec gives the size of a dim. And what is not looked at:
// parameters that nothing reads, cases not chosen.
bool beyond_schemas(const std::string& what) {
  static const std::regex known(
      "model\\.with\\.rate := .*|model\\.steps\\[1\\]\\.d\\.rate := .*|"
      "(dims|numerics\\.blocks)\\.batch := 7|model\\.(blocks\\.layer\\.)?params \\+ zzz|"
      "(.*\\.)?dims\\.\\w+( - size|\\.size := null)|"
      "model\\..*choose\\.\\w+\\.(rms|else|relu|gelu|geglu) := .*");
  return std::regex_match(what, known);
}

TEST_CASE("the schema accepts what the reader accepts and rejects what it calls misplaced") {
  Schema schema;
  int good = 0, structure = 0;
  for (const std::string& text : full_specs())
    for_each_change(Schema::parsed(text), [&](const YamlNode& changed, const std::string& what) {
      const std::string yaml = flow_yaml(changed);
      std::string messages;
      const Verdict verdict = read(yaml, messages);
      const bool accepted = schema.accepts(yaml);
      if (verdict == Verdict::other || beyond_schemas(what))
        return;
      (verdict == Verdict::good ? good : structure)++;
      INFO(what << "\n" << messages);
      CHECK(accepted == (verdict == Verdict::good));
    });
  CHECK(good > 100);
  CHECK(structure > 1000);
}

TEST_CASE("exactly one of several keys, and keys that a base spec may give") {
  Schema schema;
  const std::string rest = "mtf: 1\nmodel: {steps: []}\n";
  const std::pair<const char*, bool> cases[] = {
      {"data: {text: a, synthetic: {x: {normal: 1}}}", false},
      {"data: {text: a, synthetic: null}", true},
      {"data: {batch: rows}", false},
      {"data: {synthetic: {x: {normal: 1, uniform: 8}}}", false},
      {"data: {synthetic: {x: {}}}", false},
      {"data: {text: a}\ntrain: {steps: 5, optimizer: {adam: {}, adamw: {}}}", false},
      {"data: {text: a}\ntrain: {steps: 5, optimizer: {}}", false},
      {"data: {text: a}\ntrain: {steps: 5, optimizer: {adam: null}}", false},
      {"data: {text: a}\ntrain: {steps: 5, optimizer: {adam: {}, adamw: null}}", true},
      {"data: {text: a}\ntrain: {steps: 5, optimizer: {lamb: {}}}", false},
      {"storage: {optimizer: data}", false}};
  for (const auto& [text, good] : cases) {
    std::string messages;
    INFO(text);
    CHECK((read(rest + text, messages) == Verdict::good) == good);
    CHECK(schema.accepts(rest + text) == good);
  }
  CHECK(schema.accepts(std::string("extends: base.yaml\ntrain: {microbatches: 2}")));
  CHECK_FALSE(schema.accepts(std::string("extends: 3\ntrain: {microbatches: 2}")));
  CHECK_FALSE(schema.accepts(std::string("train: {microbatches: 2}")));
  CHECK_FALSE(schema.accepts(std::string("extends: base.yaml\ntrain: {optimizer: {}}")));
}

TEST_CASE("what a step may call, and what may stand beside it") {
  Schema schema;
  auto agreed = [&](const std::string& declared, const std::string& step) {
    const std::string yaml =
        "mtf: 1\ndims: {batch: 4, d: 8}\nmodel:\n  with: {kind: a, rate: 0.5}\n" +
        ("  inputs: {x: [batch, d]}\n" + declared) + "  steps: [y: " + step +
        "]\n  outputs: {y: y}\n";
    std::string messages;
    const bool good = read(yaml, messages) == Verdict::good;
    INFO(yaml << messages);
    CHECK(schema.accepts(yaml) == good);
    return good;
  };
  auto block = [](const std::string& name) {
    return "  blocks: {" + name + ": {takes: p, with: {a: 1}, steps: [q: {exp: p}], gives: q}}\n";
  };
  auto choice = [](const std::string& name, const std::string& target) {
    return "  choose: {" + name + ": {by: $kind, a: " + target + ", b: exp}}\n";
  };
  // A block or choice may be called as an attribute is.
  for (const char* name : {"rate", "over", "causal", "times", "from", "scale_by", "dims"}) {
    CHECK(agreed(block(name), "{" + std::string(name) + ": x}"));
    CHECK(agreed(block(name), "{" + std::string(name) + ": [x], with: {a: 2}}"));
    CHECK(agreed(choice(name, "relu"), "{" + std::string(name) + ": x}"));
  }
  CHECK(agreed("", "{dropout: x, rate: $rate}"));
  CHECK_FALSE(agreed("", "{dropout: x, rate: zzz}"));
  CHECK(agreed(choice("keep", "dropout"), "{keep: x, rate: $rate}"));
  CHECK_FALSE(agreed(choice("keep", "dropout"), "{keep: x, rate: zzz}"));
  CHECK_FALSE(agreed(block("layer"), "{repeat: layer, times: [x], from: x}"));
  // It may not hide what a step knows.
  for (const std::string& word : step_words()) {
    CHECK_FALSE(agreed(block(word), "{relu: x}"));
    CHECK_FALSE(agreed(choice(word, "relu"), "{relu: x}"));
  }
  // pass takes what belongs to others only in their place.
  CHECK(agreed("", "{pass: x}"));
  CHECK_FALSE(agreed("", "{pass: x, over: d}"));
  CHECK_FALSE(agreed("", "{pass: x, with: {a: 1}}"));
  CHECK(agreed(choice("keep", "pass"), "{keep: [x, x], over: d, with: {a: 1}}"));
}

// A spec that takes the file as its own model, or as its one block.
std::string spec_around(const YamlNode& file) {
  const std::string head = R"(
mtf: 1
dims: {batch: 4, length: 4, d_model: 4, heads: 2, kv_heads: 1, d_head: 2, d_ff: 8, vocab: 8, layers: 1, pixel: 4,
       hidden: 4, digit: 4}
data: {text: a.txt}
train: {steps: 1, optimizer: {sgd: {learning_rate: 0.1}}}
)";
  if (!file.find("takes"))
    return head + "model: " + flow_yaml(file);
  return head +
         "model:\n  inputs: {x: {dims: [batch, length, d_model], dtype: f32}}\n  blocks: {layer: " +
         flow_yaml(file) +
         "}\n  steps: [y: {layer: x}, loss: {reduce_mean: y, over: [batch, length, d_model]}]\n" +
         "  loss: loss\n  outputs: {y: y}\n";
}

// What the reader says of a library file. Where mistakes are expected, the choices are changed
// until one is found: they decide which parts of the file are looked at.
Verdict read_file(YamlNode file, bool expected_good, std::string& messages) {
  static const std::map<std::string, const char*> others[] = {
      {},
      {{"norm", "layer"},
       {"bias", "true"},
       {"tied", "false"},
       {"positions", "sinusoid"},
       {"feed_forward", "swiglu"},
       {"attention", "grouped_query"}},
      {{"positions", "rope"}, {"dropout", "0.5"}}};
  Verdict verdict = Verdict::good;
  for (const auto& options : others) {
    for (const auto& [name, value] : options)
      if (YamlNode* with = file.find("with"); with && with->find(name))
        with->find(name)->text = value;
    verdict = read(spec_around(file), messages);
    if (expected_good || verdict != Verdict::good)
      break;
  }
  return verdict;
}

TEST_CASE("the schema of library files says of them what the reader says") {
  Schema schema(library_schema());
  // Options, which take their values elsewhere, an operand that is not read, a case not chosen.
  const std::regex beyond(
      "(.*\\.)?with\\.\\w+ := .*|.*_kept\\.rate := .*|blocks\\.second\\.takes.0. := true|"
      "choose\\.add_bias\\.false := .*");
  int changes = 0, good = 0, structure = 0;
  for (const std::string& name : library_names()) {
    const YamlNode file = Schema::parsed(std::string(*library_text(name)));
    std::string messages;
    INFO(name);
    CHECK(schema.accepts(flow_yaml(file)));
    CHECK(read_file(file, false, messages) == Verdict::good);
    INFO(messages);
    for_each_change(file, [&](const YamlNode& changed, const std::string& what) {
      if (++changes % 3 != 0)  // the files are alike, and reading takes its time
        return;
      const bool accepted = schema.accepts(to_json(changed));
      const Verdict verdict = read_file(changed, accepted, messages);
      if (verdict == Verdict::other || beyond_schemas("model." + what) ||
          std::regex_match(what, beyond))
        return;
      (verdict == Verdict::good ? good : structure)++;
      INFO(what << "\n" << messages);
      CHECK(accepted == (verdict == Verdict::good));
    });
  }
  CHECK(good > 100);
  CHECK(structure > 1000);
}

TEST_CASE("library files are models or layers, and no specs") {
  Schema schema(library_schema());
  auto accepts = [&](const char* yaml) { return schema.accepts(std::string(yaml)); };
  CHECK(accepts("takes: x\nblocks: {b: {takes: p, gives: p}}\nsteps: [y: {b: x}]\ngives: y"));
  CHECK(accepts("steps: []"));
  CHECK_FALSE(accepts("takes: x"));                     // gives what?
  CHECK_FALSE(accepts("takes: x\ngives: x\nloss: x"));  // of models
  CHECK_FALSE(accepts("use: transformer_lm"));          // of specs
  CHECK_FALSE(accepts("use: transformer_lm\nsteps: []"));
  CHECK_FALSE(accepts("mtf: 1\nmodel: {steps: []}"));
  CHECK_FALSE(accepts("inputs: {x: [batch]}"));
}

TEST_CASE("schemas/ has what mtf schema prints") {  // scripts/update_docs.sh writes it
  for (const auto& [file, schema] :
       {std::pair("spec", spec_schema()), std::pair("library", library_schema())}) {
    std::ifstream in(MTF_ROOT "/schemas/" + std::string(file) + ".schema.json");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    CHECK((text == schema));
  }
}
