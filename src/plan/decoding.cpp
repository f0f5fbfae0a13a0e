#include "plan/decoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "model/decode.h"
#include "spec/dims.h"

namespace mtf {
namespace {

class Check {
 public:
  Check(const Spec& spec, const Graph& forward, const Decoding& decoding, Diagnostics& diagnostics)
      : spec_(spec), forward_(forward), decoding_(decoding), diagnostics_(diagnostics) {}

  bool run() {
    std::vector<std::string> dims, inputs, outputs;
    for (const Dim& d : forward_.dims)
      if (d.block_of.index < 0)
        dims.push_back(d.name);
    for (const Named& n : forward_.inputs)
      inputs.push_back(n.name);
    for (const Named& n : forward_.outputs)
      outputs.push_back(n.name);
    require("along", "dim", decoding_.along, dims);
    require("tokens", "input", decoding_.tokens, inputs);
    require("logits", "output", decoding_.logits, outputs);
    if (!good_)
      return false;
    along_ = forward_.find_dim(decoding_.along);
    check_tokens(forward_[node(forward_.inputs, decoding_.tokens)]);
    check_logits(forward_[node(forward_.outputs, decoding_.logits)]);
    return good_;
  }

 private:
  void refuse(Code code, std::string message, const std::string& path, Help help) {
    diagnostics_.add({code, std::move(message), spec_.span(path), {}, std::move(help)});
    good_ = false;
  }

  void require(const std::string& key, const std::string& kind, const std::string& name,
               const std::vector<std::string>& known) {
    if (std::count(known.begin(), known.end(), name))
      return;
    const std::string all = known.empty() ? fmt::format("it has no {}s", kind)
                                          : fmt::format("its {}s are {}", kind, listed(known));
    refuse(Code::model_unknown_name, fmt::format("the model has no {} '{}' to decode", kind, name),
           "infer." + key,
           suggest(name, spec_.span("infer." + key), known,
                   spec_.has("infer." + key)
                       ? all
                       : fmt::format("{}; name it with `infer: {{{}: NAME}}`", all, key)));
  }

  static NodeId node(const std::vector<Named>& list, const std::string& name) {
    return std::find_if(list.begin(), list.end(), [&](const Named& n) { return n.name == name; })
        ->node;
  }

  // "'x' is f32[batch=1, length=8]"
  std::string described(const std::string& name, const Type& type) const {
    return fmt::format("'{}' is {}{}", name, name_of(type.dtype), forward_.show(type.shape));
  }

  void check_tokens(const Node& tokens) {
    const Shape& shape = tokens.type.shape;
    const bool single = std::all_of(shape.dims.begin(), shape.dims.end(),
                                    [&](DimId d) { return d == along_ || forward_[d].size == 1; });
    const std::string what = described(decoding_.tokens, tokens.type);
    if (tokens.type.dtype != DType::i32 || !shape.has(along_))
      return refuse(Code::infer_undecodable,
                    fmt::format("{}; tokens are i32 numbers along '{}'", what, decoding_.along),
                    "infer.tokens", "");
    const std::string batch = "infer.dims." + decoding_.batch;
    if (!single)
      refuse(
          Code::infer_undecodable,
          fmt::format("{}; decoding takes one example at a time, so only '{}' may be longer than 1",
                      what, decoding_.along),
          batch,
          spec_.has(batch) ? "leave out " + batch + ", or make it 1"
                           : "if another dim than '" + decoding_.batch +
                                 "' counts examples, say so: `data: {batch: DIM}`");
  }

  void check_logits(const Node& logits) {
    int scores = 0;
    for (DimId d : logits.type.shape.dims)
      scores += d != along_ && forward_[d].name != decoding_.batch;
    if (scores != 1 || !is_float(logits.type.dtype) || !logits.type.shape.has(along_))
      refuse(Code::infer_undecodable,
             fmt::format("{}; logits are floats along '{}' and one more dim, that of the tokens to "
                         "choose from",
                         described(decoding_.logits, logits.type), decoding_.along),
             "infer.logits", "");
  }

  const Spec& spec_;
  const Graph& forward_;
  const Decoding& decoding_;
  Diagnostics& diagnostics_;
  DimId along_;
  bool good_ = true;
};

}  // namespace

std::optional<Decoding> decoding_of(const Spec& spec) {
  const bool text = spec.data && spec.data->kind == DataSpec::Kind::text;
  const bool ids = spec.data && spec.data->kind == DataSpec::Kind::synthetic &&
                   std::any_of(spec.data->synthetic.begin(), spec.data->synthetic.end(),
                               [](const SyntheticInput& i) { return i.name == "tokens"; });
  if (!text && !ids && spec.infer.along.empty())
    return std::nullopt;
  auto or_else = [](const std::string& given, const char* usual) {
    return given.empty() ? usual : given;
  };
  return Decoding{or_else(spec.infer.along, "length"), or_else(spec.infer.tokens, "tokens"),
                  or_else(spec.infer.logits, "logits"), spec.data ? spec.data->batch : "batch"};
}

Spec for_inference(const Spec& spec, const Decoding& decoding) {
  Spec s = spec;
  s.dims = spec.infer.dims;
  s.mesh = spec.infer.mesh;
  s.layout = spec.infer.layout;
  for (DimSpec& d : s.dims)
    if (d.name == decoding.batch && !spec.has("infer.dims." + decoding.batch)) {
      d.size.assign(1, '1');  // GCC 12 sees an overlap in an assignment
      d.pad = 1;
    }
  s.numerics.blocks.of_dim.erase(decoding.batch);
  return s;
}

void check_parameter_shapes(const Spec& spec, const Spec& inference, const Graph& forward,
                            Diagnostics& diagnostics) {
  Diagnostics known;
  DimTable training(known, spec.dims), own(known, inference.dims);
  Diagnostics written, derived;  // in `infer.dims`; from other dims
  for (const DimSpec& d : spec.dims) {
    const std::optional<int64_t> there = training.size(d.name, d.span);
    const std::optional<int64_t> here = own.size(d.name, d.span);
    const DimId dim = forward.find_dim(d.name);
    const auto parameter =
        std::find_if(forward.parameters.begin(), forward.parameters.end(),
                     [&](const Named& p) { return forward[p.node].type.shape.has(dim); });
    const bool is_parameter = parameter != forward.parameters.end();
    const bool repeats = std::any_of(forward.repeats.begin(), forward.repeats.end(),
                                     [&](const Repeat& r) { return r.dim == d.name; });
    if (there == here || (!is_parameter && !repeats))
      continue;
    const std::string path = "infer.dims." + d.name;
    const std::string trained =
        is_parameter
            ? fmt::format("parameter '{}' is trained with {}", parameter->name, there.value_or(0))
            : fmt::format("training repeats the block {} times", there.value_or(0));
    (spec.has(path) ? written : derived)
        .add({Code::spec_range,
              fmt::format("'{}' is {} in `infer:`, but {}", d.name, here.value_or(0), trained),
              spec.span(path),
              {{d.span, "training takes it from here"}},
              "dims of activations alone may differ in `infer.dims`"});
  }
  for (const Diagnostic& d : (written.has_errors() ? written : derived).all())
    diagnostics.add(d);
}

void soften_rules(LayoutRules& rules, const Graph& forward, const Decoding& decoding) {
  std::set<std::string> soft;
  for (DimId d : decoded_dims(forward, forward.find_dim(decoding.along)))
    soft.insert(forward[d].rule);
  const DimId batch = forward.find_dim(decoding.batch);
  if (batch.index >= 0)
    soft.insert(forward[batch].rule);
  auto soften = [&](std::vector<LayoutRule>& list) {
    for (LayoutRule& rule : list)
      for (LayoutRule::Use& use : rule.axes)
        use.soft = use.soft || soft.count(rule.dim);
  };
  soften(rules.rules);
  for (auto& [pattern, list] : rules.tensors)
    soften(list);
}

bool check_decoding(const Spec& spec, const Graph& forward, const Decoding& decoding,
                    Diagnostics& diagnostics) {
  return Check(spec, forward, decoding, diagnostics).run();
}

}  // namespace mtf
