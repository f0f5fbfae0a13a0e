#include "ops/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "ops/blocks.h"

namespace mtf {

bool contains(std::span<const DimId> dims, DimId d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

std::vector<DimId> dims_without(std::span<const DimId> of, std::span<const DimId> without) {
  std::vector<DimId> rest;
  for (DimId d : of)
    if (!contains(without, d))
      rest.push_back(d);
  return rest;
}

namespace {

// The dims of the operands, each once.
std::vector<DimId> dims_of(const Builder& b, std::span<const NodeId> operands) {
  std::vector<DimId> dims;
  for (NodeId x : operands)
    for (DimId d : b.shape(x).dims)
      if (!contains(dims, d))
        dims.push_back(d);
  return dims;
}

std::vector<std::string> names_of(const Graph& graph, std::span<const DimId> dims) {
  std::vector<std::string> names;
  for (DimId d : dims)
    names.push_back(graph[d].name);
  return names;
}

}  // namespace

SourceSpan Builder::place_of(DimId d) const {
  const auto last =
      std::find_if(named.rbegin(), named.rend(), [d](const auto& n) { return n.first == d; });
  return last == named.rend() ? origin.span : last->second;
}

void Builder::error(Code code, const std::string& message, Help help) {
  if (help.text.empty() && op_ && op_->summary.starts_with('['))  // which operand is which
    help.text = fmt::format("{} takes {}", op_->name, op_->summary);
  diagnostics.add({code,
                   op_ ? fmt::format("{}: {}", op_->name, message) : message,
                   origin.span,
                   {},
                   std::move(help)});
}

void Builder::error_at(std::string_view attribute, Code code, const std::string& message,
                       Help help) {
  const SourceSpan op = origin.span;
  for (const auto& [name, where] : written)
    if (name == attribute)
      origin.span = where;
  error(code, message, std::move(help));
  origin.span = op;
}

void Builder::error_at(DimId d, Code code, const std::string& message, Help help) {
  const SourceSpan op = std::exchange(origin.span, place_of(d));
  error(code, message, std::move(help));
  origin.span = op;
}

Help Builder::suggest_dim(DimId d, std::span<const NodeId> operands) const {
  const std::vector<std::string> known = names_of(graph, dims_of(*this, operands));
  return suggest(graph[d].name, place_of(d), known,
                 known.empty()          ? "it is one number, without dims"
                 : operands.size() == 1 ? "its dims are " + listed(known)
                                        : "their dims are " + listed(known));
}

bool Builder::require_dims(NodeId x, std::span<const DimId> dims) {
  bool all = true;
  for (DimId d : dims) {
    if (shape(x).has(d))
      continue;
    error_at(d, Code::model_shape,
             fmt::format("the operand {} has no dim '{}'", graph.show(shape(x)), graph[d].name),
             suggest_dim(d, {{x}}));
    all = false;
  }
  return all;
}

bool Builder::require_attributes(const OpDef& op, std::span<const NodeId> operands,
                                 const Attrs& attrs) {
  bool all = true;
  const OpDef* outer = std::exchange(op_, op_ ? op_ : &op);
  for (const AttrDef& a : op.attributes)
    if (a.required && !attrs.find(a.name)) {
      error(Code::model_attribute, fmt::format("the attribute '{}' is missing", a.name),
            help_for(a, operands));
      all = false;
    }
  op_ = outer;
  return all;
}

bool Builder::check_call(const OpDef& op, const std::vector<NodeId>& operands) {
  int n = static_cast<int>(operands.size());
  bool fits = n >= op.min_operands && (op.max_operands < 0 || n <= op.max_operands);
  if (!fits) {
    std::string range = op.max_operands < 0 ? fmt::format("at least {}", op.min_operands)
                        : op.min_operands == op.max_operands
                            ? std::to_string(op.min_operands)
                            : fmt::format("{} to {}", op.min_operands, op.max_operands);
    error(Code::model_step,
          fmt::format("takes {} operand{}, not {}", range, range == "1" ? "" : "s", n));
  }
  return fits;
}

// What the attribute is, and the dims that it may name: `to` and `dims` name new ones.
Help Builder::help_for(const AttrDef& missing, std::span<const NodeId> operands) const {
  std::string help = fmt::format("`{}:` is {}", missing.name, missing.summary);
  const bool is_dim = missing.kind == AttrKind::dim || missing.kind == AttrKind::dims;
  const bool is_new = missing.name == "to" || missing.name == "dims";
  if (is_dim && !is_new && !operands.empty() && !shape(operands[0]).dims.empty())
    help += fmt::format("; {} has {}", operands.size() == 1 ? "the operand" : "the first operand",
                        listed(names_of(graph, shape(operands[0]).dims)));
  return help;
}

NodeId Builder::add(const OpDef& op, std::vector<NodeId> operands, Attrs attrs) {
  for (NodeId id : operands)
    if (id.index < 0)
      return {};
  const OpDef* outer = op_;
  if (!op_)
    op_ = &op;
  NodeId result;
  const bool fits = check_call(op, operands);
  if (require_attributes(op, operands, attrs) && fits)
    result = op.build ? add_composite(op, std::move(operands), std::move(attrs))
                      : add_node(op, std::move(operands), std::move(attrs));
  op_ = outer;
  return result;
}

NodeId Builder::add(std::string_view op, std::initializer_list<NodeId> operands, Attrs attrs) {
  const OpDef* def = find_op(op);
  CHECK(def != nullptr, std::string(op));
  return add(*def, std::vector<NodeId>(operands), std::move(attrs));
}

// Master weights are f32; next to a bf16 operand they are read in bf16, so that the result is.
void Builder::read_parameters_in_compute_type(std::vector<NodeId>& operands) {
  auto is_bf16 = [this](NodeId id) { return dtype(id) == DType::bf16; };
  if (std::none_of(operands.begin(), operands.end(), is_bf16))
    return;
  for (NodeId& id : operands)
    if (graph[id].op->name == "parameter" && dtype(id) == DType::f32)
      id = cast(id, DType::bf16);
}

bool Builder::require_distinct(std::span<const DimId> dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (contains(dims.first(i), dims[i])) {
      error_at(dims[i], Code::model_attribute,
               fmt::format("'{}' is named twice; its dims must differ", graph[dims[i]].name));
      return false;
    }
  return true;
}

bool Builder::require_order(double low, double high) {
  if (low > high)
    error_at("low", Code::model_attribute,
             fmt::format("'low' is {}, above 'high', which is {}", low, high));
  return low <= high;
}

// A tensor has each dim once and a size that 64 bits hold.
bool Builder::check_shape(const Shape& shape) {
  constexpr double most_elements = 1ull << 60;
  double elements = 1;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    elements *= static_cast<double>(graph[shape.dims[i]].size);
    if (contains(std::span(shape.dims).first(i), shape.dims[i])) {
      const std::string& name = graph[shape.dims[i]].name;
      error(Code::model_shape,
            fmt::format("'{}' stands twice in its result {}", name, graph.show(shape)),
            fmt::format("a tensor has each dim once; give the other one a name of its own in "
                        "`dims:`, such as `{}2: {}`",
                        name, name));
      return false;
    }
  }
  if (elements > most_elements)
    error(Code::model_shape,
          fmt::format("its result {} has {:.3g} elements; at most 2^60 are possible",
                      graph.show(shape), elements));
  return elements <= most_elements;
}

NodeId Builder::add_node(const OpDef& op, std::vector<NodeId> operands, Attrs attrs) {
  if (op.kernel == "map" && operands.size() > 1)
    read_parameters_in_compute_type(operands);
  Node node{.op = &op,
            .inputs = std::move(operands),
            .attrs = std::move(attrs),
            .type = {},
            .origin = origin,
            .phase = phase,
            .composite = composite,
            .gradient_of = {}};
  if (!moves_no_padding(node))
    return {};
  std::optional<Type> type = op.infer(*this, node.inputs, node.attrs);
  if (!type || !check_shape(type->shape))
    return {};
  node.type = std::move(*type);
  mask_operands(node);
  graph.nodes.push_back(std::move(node));
  const NodeId made{static_cast<int32_t>(graph.nodes.size()) - 1};
  return op.lookup ? mask_unknown_indices(made) : made;
}

NodeId Builder::add_composite(const OpDef& op, std::vector<NodeId> operands, Attrs attrs) {
  const int32_t index = static_cast<int32_t>(graph.composites.size());
  const int32_t outer = composite;
  const int32_t first_part = static_cast<int32_t>(graph.nodes.size());
  graph.composites.push_back({&op, operands, {}, {}, {}});
  if (outer < 0)
    composite = index;
  std::vector<NodeId> saved;
  NodeId result = op.build(*this, operands, attrs, saved);
  composite = outer;
  // An op that gave back an older node (an identity) has no parts and no gradient of its own.
  Composite& made = graph.composites[static_cast<size_t>(index)];
  made.attrs = std::move(attrs);
  made.result = result.index >= first_part ? result : NodeId{};
  made.saved = std::move(saved);
  return result;
}

NodeId Builder::leaf(std::string_view kind, std::string name, Type type) {
  std::vector<Named>& list = kind == "input"       ? graph.inputs
                             : kind == "parameter" ? graph.parameters
                                                   : graph.states;
  NodeId id = add(kind, {}, {{{"dims", type.shape.dims}, {"dtype", type.dtype}, {"name", name}}});
  if (id.index >= 0)
    list.push_back({std::move(name), id});
  return id;
}

NodeId Builder::constant(double value, DType dtype) {
  return add("constant", {}, {{{"value", value}, {"dtype", dtype}}});
}

NodeId Builder::counted_examples(NodeId x) {
  if (!padded || batch.index < 0 || !shape(x).has(batch))
    return {};
  constexpr std::string_view name = "driver:valid_examples";
  const auto there = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                  [&](const Named& in) { return in.name == name; });
  const NodeId valid = there != graph.inputs.end()
                           ? there->node
                           : leaf("input", std::string(name), {{}, DType::i32});
  return add("less", {add("iota", {}, {{{"over", batch}}}), valid});
}

NodeId Builder::cast(NodeId x, DType to) {
  return x.index < 0 || dtype(x) == to ? x : add("cast", {x}, {{{"dtype", to}}});
}

NodeId Builder::broadcast(NodeId x, const Shape& to) {
  auto has = [&](DimId d) { return graph[x].type.shape.has(d); };
  const bool same = x.index < 0 || std::all_of(to.dims.begin(), to.dims.end(), has);
  return same ? x : add("broadcast", {x}, {{{"to", to.dims}}});
}

NodeId Builder::fold(NodeId x, const DimPairs& blocks) {
  for (size_t i = blocks.size(); i-- > 0;)
    x = add("tree_sum", {x}, {{{"over", std::vector<DimId>{blocks[i].second}}}});
  return x;
}

NodeId Builder::contract(NodeId a, NodeId b, std::vector<DimId> over,
                         std::vector<DimId> result_dims, DimPairs blocks) {
  return add("contract", {a, b},
             {{{"over", std::move(over)}, {"to", std::move(result_dims)}, {"blocks", blocks}}});
}

NodeId Builder::einsum(NodeId a, NodeId b, std::vector<DimId> result_dims, bool one_chain) {
  std::vector<DimId> over = dims_without(shape(a).dims, result_dims);
  for (DimId d : dims_without(shape(b).dims, result_dims))
    if (!contains(over, d))
      over.push_back(d);
  DimPairs blocks = one_chain ? DimPairs{} : product_blocks(*this, over);
  a = cast(a, numerics.compute);
  b = cast(b, numerics.compute);
  return fold(contract(a, b, std::move(over), std::move(result_dims), blocks), blocks);
}

NodeId Builder::reduce_sum(NodeId x, std::vector<DimId> over) {
  DType wide = numerics.statistics();
  if (over.empty())
    return cast(x, wide);
  return add("reduce_sum", {x}, {{{"over", std::move(over)}, {"dtype", wide}}});
}

NodeId Builder::sum_to(NodeId x, const Shape& to) {
  std::vector<DimId> over = dims_without(shape(x).dims, to.dims);
  return over.empty() ? x : reduce_sum(x, std::move(over));
}

}  // namespace mtf
