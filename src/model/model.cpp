#include "model/model.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "model/interpreter.h"
#include "model/library.h"
#include "ops/op.h"

namespace mtf {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c));
}

// The number in brackets that starts at `at`, behind the `[`; -1 if there is none.
int64_t number_at(std::string_view path, size_t at) {
  if (at == 0 || path[at - 1] != '[' || at >= path.size() || !is_digit(path[at]))
    return -1;
  int64_t number = 0;
  for (; at < path.size() && is_digit(path[at]); ++at)
    number = number * 10 + (path[at] - '0');
  return number;
}

void add_words(std::string_view text, std::set<std::string, std::less<>>& words) {
  std::string word;
  for (char c : std::string(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      word += c;
    else if (!word.empty())
      words.insert(std::exchange(word, {}));
  }
}

void add_words(const YamlNode& node, std::set<std::string, std::less<>>& words) {
  add_words(node.text, words);
  for (const YamlNode& item : node.items)
    add_words(item, words);
  for (const auto& [key, value] : node.entries) {
    add_words(key.text, words);
    add_words(value, words);
  }
}

}  // namespace

bool path_less(std::string_view a, std::string_view b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  auto at = static_cast<size_t>(differ - a.begin());
  while (at > 0 && is_digit(a[at - 1]))  // to the start of a number
    --at;
  const int64_t x = number_at(a, at), y = number_at(b, at);
  return x >= 0 && y >= 0 ? x < y : a < b;
}

const Node* input_behind(const Graph& graph, NodeId id) {
  while (graph[id].op->name_only || graph[id].op->name == "cast")
    id = graph[id].inputs[0];
  const Node& node = graph[id];
  return node.op->name == "input" && !is_float(node.type.dtype) ? &node : nullptr;
}

int64_t parameter_count(const Model& model) {
  int64_t count = 0;
  for (const Parameter& p : model.parameters)
    count += model.graph.true_elements(model.graph[p.node].type.shape);
  return count;
}

Numerics numerics_of(const NumericsSpec& spec) {
  Numerics numerics{
      spec.compute, spec.exact == Exact::fast, spec.exact == Exact::bitwise, spec.blocks.usual, {}};
  for (const auto& [dim, blocks] : spec.blocks.of_dim)
    numerics.blocks_of[dim] = {blocks.count, blocks.count_span};
  return numerics;
}

std::optional<Model> build_model(const Spec& spec, Sources& sources, const Numerics& numerics,
                                 Diagnostics& diagnostics, BuildOptions options) {
  if (!spec.buildable || spec.model.is_null())
    return std::nullopt;
  return Interpreter(spec, sources, numerics, diagnostics, options).run();
}

Graph sound_part(const Spec& spec, Sources& sources, const Numerics& numerics) {
  Diagnostics known;
  BuildOptions options;
  options.microbatches = spec.train ? spec.train->microbatches : 1;
  return Interpreter(spec, sources, numerics, known, options).part();
}

std::set<std::string, std::less<>> words_of_model(const Spec& spec) {
  std::set<std::string, std::less<>> words;
  add_words(spec.model, words);
  for (const std::string& name : library_names())
    add_words(*library_text(name), words);
  return words;
}

}  // namespace mtf
