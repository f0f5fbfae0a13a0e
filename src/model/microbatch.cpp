#include "model/microbatch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "ops/op.h"
#include "spec/dims.h"

namespace mtf {
namespace {

// What a whole batch and a microbatch must have alike, found wherever they differ.
class Comparison {
 public:
  Comparison(const Spec& spec, const Model& whole, Diagnostics& diagnostics)
      : spec_(spec), whole_(whole), diagnostics_(diagnostics) {
    Diagnostics known;
    DimTable table(known, spec.dims);
    batch_size_ = table.size(batch_, {}).value_or(parts_);
  }

  // Errors of a model that has none with the whole batch.
  void explain(const Diagnostics& found) {
    for (Diagnostic d : found.all()) {
      if (d.severity != Severity::error)
        continue;
      d.message = fmt::format("in each of {} microbatches, of '{}'={}, {}", parts_, batch_,
                              batch_size_ / parts_, d.message);
      d.help = d.code == Code::model_shape
                   ? fmt::format(
                         "write sizes that go with '{0}' as expressions of it, such as "
                         "`rows: {0} * length`, or leave out `train.microbatches`",
                         batch_)
                   : "take fewer microbatches, or leave out `train.microbatches`";
      d.code = Code::train_microbatches;
      d.notes.push_back(cut());
      diagnostics_.add(std::move(d));
    }
  }

  void compare(const Model& part) {
    if (!compare_repeats(part.graph))
      return;
    compare_parameters(part);
    compare_inputs(part.graph);
    compare_indices(part.graph);
  }

 private:
  // Of the first one that differs: the models have other nodes from there on.
  bool compare_repeats(const Graph& part) {
    for (size_t i = 0; i < part.repeats.size(); ++i) {
      const Repeat &all = whole_.graph.repeats[i], &one = part.repeats[i];
      if (all.times == one.times)
        continue;
      refuse(one.span,
             fmt::format("'{}' counts {} copies for the whole batch and {} for each of {} "
                         "microbatches",
                         one.dim, all.times, one.times, parts_),
             fmt::format("give '{}' a size that does not depend on '{}'", one.dim, batch_));
      return false;
    }
    return true;
  }

  void compare_parameters(const Model& part) {
    CHECK(part.parameters.size() == whole_.parameters.size());
    for (size_t i = 0; i < part.parameters.size(); ++i) {
      const Parameter& p = part.parameters[i];
      for (auto [all, one] : changed(whole_.parameters[i].node, part.graph, p.node))
        diagnostics_.add(
            {Code::train_batch_parameter,
             fmt::format("'{}' of parameter '{}' depends on the size of the batch, of which each "
                         "of {} microbatches has a part",
                         one.name, p.path, parts_),
             p.span,
             {},
             "leave out `train.microbatches`, or give the parameter other dims"});
    }
  }

  // The batch itself is cut; a dim made of it has no place in the rows of the data.
  void compare_inputs(const Graph& part) {
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      const Named& input = part.inputs[i];
      for (auto [all, one] : changed(whole_.graph.inputs[i].node, part, input.node))
        if (one.name != batch_)
          refuse(part[input.node].origin.span,
                 fmt::format("input '{}' has {}, which is {} in each of {} microbatches; data are "
                             "cut along '{}' alone",
                             input.name, all.show(), one.show_size(), parts_, batch_),
                 fmt::format("give the input the dim '{}', and reshape it in a step", batch_));
    }
  }

  // Indices that data give count over the whole dim.
  void compare_indices(const Graph& part) {
    for (const Node& node : part.nodes) {
      if (node.op->kernel != "gather" && node.op->kernel != "scatter_add")
        continue;
      const bool gathers = node.op->kernel == "gather";
      const Node* input = input_behind(part, node.inputs[gathers ? 1 : 0]);
      const Dim& one = part[*node.attrs.get<DimId>(gathers ? "over" : "to")];
      const DimId whole = whole_.graph.find_dim(one.name);
      if (!input || whole.index < 0 || whole_.graph[whole].true_size() == one.true_size())
        continue;
      refuse(node.origin.span,
             fmt::format("input '{}' holds indices of {}, which is {} in each of {} microbatches",
                         *input->attrs.get<std::string>("name"), whole_.graph[whole].show(),
                         one.show_size(), parts_),
             fmt::format("look up a dim that does not depend on '{}'", batch_));
    }
  }

  // The dims of a leaf whose sizes differ: in the whole batch, in a microbatch.
  std::vector<std::pair<Dim, Dim>> changed(NodeId whole, const Graph& part, NodeId node) const {
    const Shape &all = whole_.graph[whole].type.shape, &one = part[node].type.shape;
    std::vector<std::pair<Dim, Dim>> out;
    for (size_t i = 0; i < one.dims.size(); ++i) {
      const Dim &a = whole_.graph[all.dims[i]], &b = part[one.dims[i]];
      if (a.true_size() != b.true_size())
        out.emplace_back(a, b);
    }
    return out;
  }

  std::pair<SourceSpan, std::string> cut() const {
    return {spec_.span("train.microbatches"),
            fmt::format("'{}'={} is cut into {} here", batch_, batch_size_, parts_)};
  }

  void refuse(SourceSpan where, std::string message, const std::string& help) {
    diagnostics_.add({Code::train_microbatches,
                      std::move(message),
                      where,
                      {cut()},
                      help + ", or leave out `train.microbatches`"});
  }

  const Spec& spec_;
  const Model& whole_;
  Diagnostics& diagnostics_;
  const std::string batch_ = spec_.data ? spec_.data->batch : "batch";
  const int64_t parts_ = spec_.train->microbatches;
  int64_t batch_size_ = 0;
};

void count_parts(const Graph& whole, Graph& part) {
  for (Dim& d : part.dims)
    if (const DimId all = whole.find_dim(d.name); all.index >= 0)
      d.parts = std::max<int64_t>(whole[all].true_size() / d.true_size(), 1);
}

}  // namespace

std::optional<Model> build_microbatch(const Spec& spec, Sources& sources, const Numerics& numerics,
                                      Diagnostics& diagnostics) {
  std::optional<Model> whole = build_model(spec, sources, numerics, diagnostics);
  const int64_t parts = spec.train ? spec.train->microbatches : 1;
  if (!whole || parts == 1)
    return whole;
  const int earlier = diagnostics.errors();
  Diagnostics found;
  std::optional<Model> part = build_model(spec, sources, numerics, found, {parts, true});
  Comparison comparison(spec, *whole, diagnostics);
  if (part) {
    comparison.compare(*part);
    count_parts(whole->graph, part->graph);
  } else {
    comparison.explain(found);
  }
  return diagnostics.errors() > earlier ? std::nullopt : std::move(part);
}

}  // namespace mtf
