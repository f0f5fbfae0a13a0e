// The Spec: one YAML file, with what it extends and `--set` changes, as plain structs. The model is
// kept as YAML for the model builder; everything else is checked here. Spans are not repeated in
// the structs: `Spec::span("train.microbatches")` finds them in the resolved document.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mesh/layout.h"
#include "spec/yaml.h"

namespace mtf {

// One entry of `dims:`. The size is an expression over dims (dims.h).
struct DimSpec {
  std::string name;
  std::string size;            // expression text: "16", "d_model / heads"
  std::string like;            // the dim whose layout rules this one follows; empty: its own
  SourceSpan span;             // of the name
  SourceSpan size_span;        // of the expression
  std::optional<int64_t> pad;  // storage has a multiple of it; if not given, what `like` says
};

struct NamedPath {
  std::string name;  // of a model input
  std::string path;
  SourceSpan span;
};

// Made-up input: ids below a size, or normally distributed numbers.
struct SyntheticInput {
  enum class Kind : uint8_t { uniform, normal };
  std::string name;  // of a model input
  Kind kind = Kind::uniform;
  std::string below;       // uniform: an expression over dims (dims.h): ids in [0, below)
  double deviation = 1.0;  // normal: standard deviation, mean 0
  SourceSpan span;         // of the name
  SourceSpan below_span;
};

struct DataSpec {
  enum class Kind : uint8_t { text, arrays, synthetic };
  Kind kind = Kind::synthetic;
  std::vector<std::string> text;          // patterns of files
  std::vector<NamedPath> arrays;          // in the order written
  std::vector<SyntheticInput> synthetic;  // in the order written
  std::string tokenizer = "bytes";
  double validation = 0;        // share of the examples, from the end
  std::string batch = "batch";  // the dim that counts examples

  bool holds_out() const { return kind != Kind::synthetic && validation > 0; }
};

struct LearningRate {
  enum class Decay : uint8_t { none, cosine, linear };
  double peak = 0;     // a constant rate is a peak without warmup and decay
  int64_t warmup = 0;  // steps
  Decay decay = Decay::none;
  double final = 0;  // the last rate as a share of the peak
};

struct Optimizer {
  enum class Kind : uint8_t { sgd, momentum, adam, adamw };
  Kind kind = Kind::sgd;
  LearningRate learning_rate;
  double momentum = 0.9;                       // momentum
  std::array<double, 2> betas = {0.9, 0.999};  // adam, adamw
  double epsilon = 1e-8;                       // adam, adamw
  double weight_decay = 0.01;                  // adamw
  std::vector<std::string> exclude;            // adamw: path patterns that do not decay
};

struct CheckpointSpec {
  std::string directory;  // relative to the working directory; empty: runs/NAME
  int64_t every = 0;      // steps; 0: only the last step
  int64_t keep = 2;
};

enum class Accumulate : uint8_t { reduced, blocks };

struct TrainSpec {
  int64_t steps = 1;
  int64_t microbatches = 1;
  Accumulate accumulate = Accumulate::reduced;
  Optimizer optimizer;
  std::optional<double> clip_global_norm;
  std::vector<std::string> freeze;  // path patterns
  int64_t log_every = 10;
  int64_t eval_every = 0;  // 0: never
  CheckpointSpec checkpoint;
  int64_t seed = 1;
};

struct InferSpec {
  std::string along, tokens, logits;  // empty: the data's defaults
  int64_t max_tokens = 64;
  int64_t prefill = 0;     // positions a piece; 0: the smaller of 128 and the length
  double temperature = 1;  // 0: greedy
  int64_t top_k = 0;       // 0: all
  int64_t seed = 1;
  std::vector<DimSpec> dims;  // the spec's dims with infer.dims over them
  Mesh mesh;                  // infer.mesh, else the spec's
  LayoutRules layout;         // infer.layout, else the spec's, on that mesh
};

enum class Exact : uint8_t { where_possible, bitwise, fast };

struct BlockCount {
  int64_t count = 1;
  SourceSpan span;  // of the dim's name
  SourceSpan count_span;
};

struct Blocks {
  int64_t usual = 8;                                      // a power of two
  std::map<std::string, BlockCount, std::less<>> of_dim;  // wins over all rules
};

struct NumericsSpec {
  DType compute = DType::f32;  // f32, bf16 or f64
  Exact exact = Exact::where_possible;
  Blocks blocks;
};

struct Spec {
  std::string name;
  std::vector<DimSpec> dims;  // in the order written
  Mesh mesh;                  // axes of size 1 dropped
  LayoutRules layout;         // without dropped and unknown axes
  YamlNode model;             // as written; null if absent
  std::optional<DataSpec> data;
  std::optional<TrainSpec> train;
  InferSpec infer;
  NumericsSpec numerics;
  std::optional<int64_t> memory_budget;  // bytes
  std::string hardware;                  // a shipped name or a file; empty: unknown

  YamlNode document;       // the resolved spec
  bool buildable = false;  // there is a model to look at: later phases make sense

  // The value at a dotted path of the document, or of the nearest part of the path that is there.
  SourceSpan span(std::string_view path) const;
  // Of the word among the keys or items of the value at a path; that of the value if it has none.
  SourceSpan span(std::string_view path, std::string_view word) const;
  bool has(std::string_view path) const;
};

// One `--set a.b.c=YAML`; `argument` is its position on the command line, from 1.
struct Override {
  std::string text;
  int argument = 0;
};

// Reads `path` ("-": standard input), what it extends, and the overrides. All mistakes are
// reported; what could be read is returned. Throws Failure if `path` itself cannot be read.
Spec read_spec(Sources& sources, const std::string& path, const std::vector<Override>& overrides,
               Diagnostics& diagnostics);

}  // namespace mtf
