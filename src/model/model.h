// Spec -> Graph: interprets `model:`, in YAML all the way down, into a forward graph and the list
// of its parameters.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/initial.h"
#include "ops/builder.h"
#include "spec/spec.h"

namespace mtf {

struct Parameter {
  std::string path;  // "layers[3]/attention/wq"
  NodeId node;       // its leaf, f32 (f64 in f64)
  Init init;
  SourceSpan span;  // of its declaration
};

struct Model {
  Graph graph;                        // forward, with inputs, parameters, outputs and loss
  std::vector<Parameter> parameters;  // in path order
};

// The i32 input whose values these are, under other dim names or in another dtype; null: none.
const Node* input_behind(const Graph&, NodeId);

int64_t parameter_count(const Model&);  // numbers in all parameters

// The order of paths: as text, with the numbers in [ ] as numbers.
bool path_less(std::string_view a, std::string_view b);

Numerics numerics_of(const NumericsSpec&);

struct BuildOptions {
  int64_t microbatches = 1;  // must divide the batch, which is one of so many parts
  bool training = true;      // false: dropout is the identity
  bool padded = false;       // the batch may end in padding, which losses do not count
};

// All mistakes of the model are reported in one go; nullopt if there is one, or if the spec's dims
// or model could not be read. Library files that the model uses are added to `sources`.
std::optional<Model> build_model(const Spec& spec, Sources& sources, const Numerics& numerics,
                                 Diagnostics& diagnostics, BuildOptions options = {});

// What of the forward graph can be built in spite of mistakes, which are not reported. Its outputs
// are the values that nothing reads.
Graph sound_part(const Spec& spec, Sources& sources, const Numerics& numerics);

// Every word of the model as written and of the whole library: what a model with mistakes might
// use.
std::set<std::string, std::less<>> words_of_model(const Spec& spec);

}  // namespace mtf
