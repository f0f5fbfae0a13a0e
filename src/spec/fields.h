// Every key of a spec, described once: its name, where its value goes, what it means, what it may
// be. A visitor walks the descriptions: the reader (map_reader.h), and whatever prints schema or
// docs.
//   field, required   a value of any readable type
//   word, bytes       one of a few words; a size such as 2GiB
//   path, paths       input files, relative to the file
//   name_or_path      a shipped name, or a path (it has a . or /)
//   expression        a size over dims, as text
//   group             a map of further keys
//   alternative       exactly one of the keys declared so must stand in the map
//   later             known to the language, refused for now
#pragma once

#include "spec/scalars.h"
#include "spec/spec.h"

namespace mtf {

template <class E>
struct Word {
  std::string_view text;
  E value;
};

template <class V>
void fields(V& v, LearningRate& r) {
  static constexpr Word<LearningRate::Decay> decays[] = {{"none", LearningRate::Decay::none},
                                                         {"cosine", LearningRate::Decay::cosine},
                                                         {"linear", LearningRate::Decay::linear}};
  v.required("peak", r.peak, "highest learning rate", at_least(0));
  v.field("warmup", r.warmup, "steps of linear growth up to the peak", at_least(0));
  v.word("decay", r.decay, "how the rate falls after the warmup", decays);
  v.field("final", r.final, "last rate as a share of the peak", between(0, 1));
}

template <class V>
void adam_fields(V& v, Optimizer& o) {
  v.field("learning_rate", o.learning_rate, "step size: a number or {peak, warmup, decay, final}");
  v.field("betas", o.betas, "decay of the first and second moment", below_one());
  v.field("epsilon", o.epsilon, "added to the root of the second moment", at_least(0));
}

template <class V>
void fields(V& v, Optimizer& o) {
  using Kind = Optimizer::Kind;
  v.alternative("sgd", [&] { o.kind = Kind::sgd; });
  v.group("sgd", "gradient descent", [&](V& in) {
    in.required("learning_rate", o.learning_rate,
                "step size: a number or {peak, warmup, decay, final}");
  });
  v.alternative("momentum", [&] { o.kind = Kind::momentum; });
  v.group("momentum", "gradient descent with momentum", [&](V& in) {
    in.required("learning_rate", o.learning_rate,
                "step size: a number or {peak, warmup, decay, final}");
    in.field("momentum", o.momentum, "share of the last update that is kept", below_one());
  });
  auto adaptive = [&](Kind kind) {
    o.kind = kind;
    o.learning_rate.peak = 1e-3;
  };
  v.alternative("adam", [&] { adaptive(Kind::adam); });
  v.group("adam", "Adam (Kingma and Ba 2015)", [&](V& in) { adam_fields(in, o); });
  v.alternative("adamw", [&] { adaptive(Kind::adamw); });
  v.group("adamw", "Adam with decoupled weight decay (Loshchilov and Hutter 2019)", [&](V& in) {
    adam_fields(in, o);
    in.field("weight_decay", o.weight_decay, "share of a weight removed per unit of rate",
             at_least(0));
    in.field("exclude", o.exclude, "path patterns of parameters that do not decay");
  });
  for (std::string_view kind : {"adafactor", "lamb", "lion"})
    v.later(kind);
}

template <class V>
void fields(V& v, CheckpointSpec& c) {
  v.field("directory", c.directory, "run directory (default runs/NAME)");
  v.field("every", c.every, "steps between saves; the last step is saved in any case", at_least(1));
  v.field("keep", c.keep, "saved steps that are kept", at_least(1));
}

template <class V>
void fields(V& v, TrainSpec& t) {
  static constexpr Word<Accumulate> accumulate[] = {{"reduced", Accumulate::reduced},
                                                    {"blocks", Accumulate::blocks}};
  v.required("steps", t.steps, "number of optimizer steps", at_least(1));
  v.field("microbatches", t.microbatches, "parts of the batch computed in turn", at_least(1));
  v.word("accumulate", t.accumulate, "when gradients of microbatches are reduced", accumulate);
  v.required("optimizer", t.optimizer, "how gradients change parameters");
  v.group("clip", "limits on gradients", [&](V& in) {
    in.field("global_norm", t.clip_global_norm, "largest norm of all gradients together", above(0));
  });
  v.field("freeze", t.freeze, "path patterns of parameters that stay as they are");
  v.field("log_every", t.log_every, "steps between progress lines", at_least(1));
  v.field("eval_every", t.eval_every, "steps between evaluations; none if left out", at_least(1));
  v.field("checkpoint", t.checkpoint, "where and how often to save");
  v.field("seed", t.seed, "of initial values, order of examples, dropout", at_least(0));
  v.later("init");
}

template <class V>
void fields(V& v, DimSpec& d) {
  v.expression("size", d.size, d.size_span, "an integer, a dim, or an expression over dims");
  v.field("like", d.like, "the dim whose layout rules this one follows");
  v.field("pad", d.pad, "the size is stored rounded up to a multiple of this", at_least(1));
}

template <class V>
void fields(V& v, SyntheticInput& s) {
  using Kind = SyntheticInput::Kind;
  v.alternative("uniform", [&] { s.kind = Kind::uniform; });
  v.expression("uniform", s.below, s.below_span, "ids below this size");
  v.alternative("normal", [&] { s.kind = Kind::normal; });
  v.field("normal", s.deviation, "standard deviation of numbers around 0", at_least(0));
}

template <class V>
void fields(V& v, DataSpec& d) {
  using Kind = DataSpec::Kind;
  v.alternative("text", [&] { d.kind = Kind::text; });
  v.paths("text", d.text, "text files for next-token prediction");
  v.alternative("arrays", [&] { d.kind = Kind::arrays; });
  v.field("arrays", d.arrays, "an array file for each model input");
  v.alternative("synthetic", [&] { d.kind = Kind::synthetic; });
  v.field("synthetic", d.synthetic, "made-up values for each model input");
  v.name_or_path("tokenizer", d.tokenizer, "`bytes`, or a tokenizer file");
  v.field("validation", d.validation, "share of the examples held out, from the end", below_one());
  v.field("batch", d.batch, "the dim that counts examples");
  v.later("pairs");
}

template <class V>
void fields(V& v, InferSpec& i) {
  v.field("along", i.along, "the dim along which positions are decoded");
  v.field("tokens", i.tokens, "the input of token ids");
  v.field("logits", i.logits, "the output that scores the next token");
  v.field("max_tokens", i.max_tokens, "tokens to make", at_least(1));
  v.field("prefill", i.prefill,
          "positions of the prompt read at once; the smaller of 128 and the length if left out",
          at_least(1));
  v.field("temperature", i.temperature, "0 takes the likeliest token", at_least(0));
  v.field("top_k", i.top_k, "likeliest tokens to choose from; 0 is all", at_least(0));
  v.field("seed", i.seed, "of the choice of tokens", at_least(0));
  v.field("dims", i.dims, "dims that differ from training");
  v.field("mesh", i.mesh, "mesh to infer on");
  v.field("layout", i.layout, "layout on that mesh");
  for (std::string_view key : {"on_full", "outputs", "beams", "length_penalty", "n_best"})
    v.later(key);
}

template <class V>
void fields(V& v, NumericsSpec& n) {
  static constexpr Word<DType> types[] = {
      {"f32", DType::f32}, {"bf16", DType::bf16}, {"f64", DType::f64}};
  static constexpr Word<Exact> exact[] = {{"bitwise", Exact::bitwise}, {"fast", Exact::fast}};
  v.word("compute", n.compute, "dtype of the operands of products", types);
  v.word("exact", n.exact, "whether every layout gives the same bits", exact);
  v.field("blocks", n.blocks, "canonical blocks of sums, by dim, or the usual number");
}

template <class V>
void fields(V& v, LayoutRules& l) {
  v.field("rules", l.rules, "axes that split each dim, in order");
  v.field("tensors", l.tensors, "rules for tensors by path pattern; the last match wins");
  v.group("limits", "what a plan may not do", [&](V& in) {
    in.bytes("gather", l.gather_limit, "largest whole tensor that a conversion may make");
  });
  v.later("regions");
  v.later("ops");
}

template <class V>
void fields(V& v, Spec& s) {
  int64_t version = 1;
  v.required("mtf", version, "language version", between(1, 1));
  v.field("name", s.name, "names the run directory");
  v.field("dims", s.dims, "names and sizes of tensor dimensions");
  v.field("mesh", s.mesh, "names and sizes of the axes of the grid of ranks");
  v.field("layout", s.layout, "which axes split which dims");
  v.later("storage");
  v.later("schedule");
  v.required("model", s.model, "the mathematics");
  v.field("data", s.data, "what the model is fed");
  v.field("train", s.train, "how parameters are learned");
  v.field("infer", s.infer, "how the model is used");
  v.field("numerics", s.numerics, "dtypes and orders of summation");
  v.group("budget", "assertions about the plan",
          [&](V& in) { in.bytes("memory", s.memory_budget, "most bytes on a device"); });
  v.name_or_path("hardware", s.hardware, "a shipped machine, or a hardware file");
}

}  // namespace mtf
