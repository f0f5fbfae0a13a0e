// What kernels need to know of a node: its summed dims with their local blocks, its formula, its
// views.
#include "plan/lower.h"

#include <bit>

#include "base/check.h"

namespace mtf {
namespace {

std::vector<Reduced> reduced_dims(const Graph& graph, const Node& node, const Mesh& mesh,
                                  const OpLayout& layout) {
  std::vector<Reduced> out;
  for (DimId d : summed_dims(node)) {
    Reduced r{d, 1, block_image(node, d)};
    if (r.kept.index >= 0) {
      r.blocks = graph[r.kept].size;
      if (exact_split(graph, node, d, mesh, layout.of(d)))
        r.blocks /= mesh.size(layout.of(d));
    }
    out.push_back(r);
  }
  return out;
}

Body body_of(const Node& node) {
  BodyStep step{node.op->scalar, node.type.dtype};
  int* registers[] = {&step.a, &step.b, &step.c};
  for (size_t i = 0; i < node.inputs.size(); ++i)
    *registers[i] = static_cast<int>(i);
  step.immediate = node.attrs.get_or<double>("immediate", 0);
  return {{step}, {static_cast<int>(node.inputs.size())}};
}

}  // namespace

const AxisList& OpLayout::of(DimId d) const {
  static const AxisList none;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == d)
      return split[i];
  return none;
}

AxisList& OpLayout::of(DimId d) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == d)
      return split[i];
  dims.push_back(d);
  return split.emplace_back();
}

std::span<const DimId> summed_dims(const Node& node) {
  const auto* list = node.attrs.get<std::vector<DimId>>("over");
  return list ? std::span<const DimId>(*list) : std::span<const DimId>();
}

DimId block_image(const Node& node, DimId summed) {
  if (const auto* blocks = node.attrs.get<DimPairs>("blocks"))
    for (const auto& [d, image] : *blocks)
      if (d == summed)
        return image;
  return {};
}

bool exact_split(const Graph& graph, const Node& node, DimId summed, const Mesh& mesh,
                 const AxisList& axes) {
  const auto p = static_cast<uint64_t>(mesh.size(axes));
  if (p == 1)
    return true;
  const DimId image = block_image(node, summed);
  return image.index >= 0 && std::has_single_bit(p) &&
         graph[image].size % static_cast<int64_t>(p) == 0;
}

KernelCall lower(const Graph& graph, const Node& node, const Mesh& mesh, const OpLayout& layout) {
  KernelCall call;
  call.kernel = node.op->kernel;
  call.attrs = node.attrs;
  if (call.kernel == "map") {
    call.body = body_of(node);
  } else if (call.kernel == "product") {
    call.terms = {{0, 1, reduced_dims(graph, node, mesh, layout)}};
  } else if (call.kernel == "scatter_add") {
    call.terms = {{0, 1, reduced_dims(graph, node, mesh, layout)}};
  } else if (call.kernel == "reduce") {
    call.reduced = reduced_dims(graph, node, mesh, layout);
    call.body.results = {0};
  } else if (call.kernel == "tree_sum") {
    for (DimId d : summed_dims(node))
      call.reduced.push_back({d, graph[d].size / mesh.size(layout.of(d)), {}});
  }
  return call;
}

View view_of(const Program& program, const Value& value, int rank) {
  View view;
  view.dtype = value.type.dtype;
  view.dims = value.type.shape.dims;
  view.size = value.local_sizes;
  for (size_t i = 0; i < view.dims.size(); ++i) {
    view.whole.push_back(program[view.dims[i]].true_size());
    view.origin.push_back(program.mesh.position(rank, value.layout.split[i]) *
                          value.local_sizes[i]);
  }
  return view;
}

KernelCall bind_call(const Program& program, const Instruction& instruction, int rank) {
  KernelCall call = std::get<Compute>(instruction.action).call;
  for (ValueId v : instruction.inputs)
    call.inputs.push_back(view_of(program, program[v], rank));
  for (ValueId v : instruction.results)
    call.results.push_back(view_of(program, program[v], rank));
  for (ValueId v : std::get<Compute>(instruction.action).inner)
    call.inner.push_back(view_of(program, program[v], rank));
  return call;
}

}  // namespace mtf
