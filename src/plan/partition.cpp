// Walks the Graph in order. Each op computes in the layout that the walk over its iteration space
// gives; its operands are converted to that layout, its result rests as docs/LANGUAGE.md says.
#include "plan/partition.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/text.h"
#include "plan/conversions.h"
#include "plan/lower.h"
#include "plan/names.h"
#include "plan/relayout.h"
#include "plan/reshape.h"

namespace mtf {
namespace {

class Partitioner {
 public:
  Partitioner(const Graph& graph, const Mesh& mesh, const LayoutRules& rules, std::string name,
              LayoutFindings& findings)
      : graph_(graph),
        rules_(rules),
        findings_(findings),
        names_(graph),
        conversions_(program_, findings) {
    program_.name = std::move(name);
    program_.mesh = mesh;
    program_.dims = graph.dims;
    home_.resize(graph.nodes.size());
    program_.code.reserve(graph.nodes.size());
    program_.values.reserve(graph.nodes.size());
  }

  Program run() {
    for (int32_t i = 0; i < static_cast<int32_t>(graph_.nodes.size()); ++i) {
      const NodeId id{i};
      if (names_.needed(id) && !graph_[id].op->name_only && !names_.generated(id))
        place(id);
    }
    for (const Named& output : graph_.outputs)
      bind_output(output);
    return std::move(program_);
  }

 private:
  // Where a base node's value lies after it was made.
  struct Home {
    ValueId value;
    Reduction reduction = Reduction::sum;
    bool inexact = false;  // partial in an order that the Graph does not fix
  };
  using Key = std::pair<std::vector<AxisList>, Phase>;
  struct Walked {
    std::vector<AxisList> split;
    std::vector<WalkConflict> conflicts;
  };

  Home& home(NodeId n) { return home_[static_cast<size_t>(n.index)]; }
  const Layout& layout_of(ValueId v) const { return program_[v].layout; }

  // ---- the layout policy -------------------------------------------------------------------
  std::vector<AxisList> rest_of(const Node& node) {
    const auto* rules = &rules_.for_tensor(path_of(node));
    const auto& [split, conflicts] = walked(node.type.shape.dims, *rules);
    findings_.conflicts(graph_, node, node.type.shape.dims, conflicts, false);
    return split;
  }

  // A gradient goes by the path of the value it is the gradient of.
  std::string_view path_of(const Node& node) const {
    return tensor_path(node.gradient_of.index >= 0 ? graph_[node.gradient_of] : node);
  }

  // The copies of a block walk over the same dims by the same rules.
  const Walked& walked(const std::vector<DimId>& dims, const std::vector<LayoutRule>& rules) {
    const auto [it, fresh] = walked_[&rules].try_emplace(dims);
    Walked& w = it->second;
    if (fresh)
      w.split = walk(dims_of(dims), program_.mesh, rules, &w.conflicts);
    return w;
  }

  std::vector<const Dim*> dims_of(const std::vector<DimId>& ids) const {
    std::vector<const Dim*> out;
    for (DimId d : ids)
      out.push_back(&graph_[d]);
    return out;
  }

  // Union of the dims of operands and result, without the block dims that this very node makes.
  std::vector<DimId> iteration_space(const Node& node) const {
    std::vector<DimId> dims;
    dims.reserve(8);
    auto add = [&](DimId d) {
      if (!std::count(dims.begin(), dims.end(), d))
        dims.push_back(d);
    };
    for (NodeId in : node.inputs)
      for (DimId d : graph_[in].type.shape.dims)
        add(d);
    for (DimId d : node.type.shape.dims)
      if (!is_own_block(node, d))
        add(d);
    return dims;
  }

  static bool is_own_block(const Node& node, DimId d) {
    const auto* blocks = node.attrs.get<DimPairs>("blocks");
    return blocks && std::any_of(blocks->begin(), blocks->end(),
                                 [d](const auto& b) { return b.second == d; });
  }

  OpLayout op_layout(const Node& node) {
    OpLayout layout{iteration_space(node), {}};
    if (passes_partial(node) || node.op->movement) {
      layout.split.resize(layout.dims.size());
      follow_input(node, layout);
    } else {
      const auto& [split, conflicts] = walked(layout.dims, rules_.rules);
      layout.split = split;
      findings_.conflicts(graph_, node, layout.dims, conflicts, true);
    }
    for (size_t i = 0; i < layout.dims.size(); ++i)
      if (role_of(node, layout.dims[i]) == Role::whole)
        layout.split[i].clear();
    return layout;
  }

  Role role_of(const Node& node, DimId d) const {
    return node.op->role ? node.op->role(graph_, node, d) : Role::kept;
  }

  void follow_input(const Node& node, OpLayout& layout) {
    const Alias& alias = names_.of(node.inputs[0]);
    if (names_.generated(alias.base))
      return;
    const Value& v = program_[home(alias.base).value];
    const std::vector<AxisList> split = v.layout.partial.empty() || passes_partial(node)
                                            ? v.layout.split
                                            : rest_of(graph_[alias.base]);
    for (size_t i = 0; i < split.size(); ++i)
      layout.of(alias.from_base(v.type.shape.dims[i])) = split[i];
    follow_reshape(program_, node, layout);
  }

  // An inexact partial goes on through ops that are linear in all their operands together.
  bool passes_partial(const Node& node) {
    if (!node.op->linear)
      return false;
    const AxisList* common = nullptr;
    for (NodeId in : node.inputs) {
      const NodeId base = names_.of(in).base;
      if (names_.generated(base) || !home(base).inexact)
        return false;
      const AxisList& partial = layout_of(home(base).value).partial;
      if (partial.empty() || (common && *common != partial))
        return false;
      common = &partial;
    }
    return common != nullptr;
  }

  // ---- values ------------------------------------------------------------------------------
  ValueId add_value(const Node& node, std::string name, Layout layout, Storage storage) {
    Value v;
    v.name = std::move(name);
    v.type = node.type;
    v.local_sizes = local_sizes(program_, node.type.shape, layout);
    v.layout = std::move(layout);
    v.storage = storage;
    program_.values.push_back(std::move(v));
    const ValueId made{static_cast<int32_t>(program_.values.size()) - 1};
    conversions_.made_at(made, node.origin);
    return made;
  }

  void place(NodeId id) {
    const Node& node = graph_[id];
    if (node.op->kernel.empty())
      place_leaf(id, node);
    else
      place_computed(id, node);
  }

  void place_leaf(NodeId id, const Node& node) {
    const std::string name = *node.attrs.get<std::string>("name");
    const Storage storage = node.op->name == "parameter" ? Storage::parameter
                            : node.op->name == "input"   ? Storage::input
                                                         : state_storage(name);
    home(id).value = add_value(node, name, {rest_of(node), {}}, storage);
    program_.inputs.push_back({binding_name(node, name), home(id).value});
  }

  // Leaves as programs hand them to each other: parameters and states carry their kind.
  static std::string binding_name(const Node& node, const std::string& name) {
    if (node.op->name == "parameter")
      return "parameter:" + name;
    return state_storage(name) == Storage::state && node.op->name == "state" ? "state:" + name
                                                                             : name;
  }

  static Storage state_storage(const std::string& name) {
    if (name.starts_with("gradient:"))
      return Storage::gradient;
    return name.starts_with("cache:") ? Storage::cache : Storage::state;
  }

  void place_computed(NodeId id, const Node& node) {
    const OpLayout layout = op_layout(node);
    std::vector<ValueId> operands;
    operands.reserve(node.inputs.size());
    for (NodeId in : node.inputs)
      operands.push_back(operand(in, node, layout));
    home(id) = emit(id, layout, operands);
    if (names_.readers(id) == 1 && !names_.is_output(id))
      return;  // goes straight to the layout of its one reader
    home(id).value =
        conversions_.convert(home(id).value, home(id).reduction, {rest_of(node), {}}, node.phase);
    home(id).inexact = false;
  }

  Home emit(NodeId id, const OpLayout& layout, std::vector<ValueId> operands) {
    const Node& node = graph_[id];
    Home made;
    made.reduction = node.op->reduction;
    Layout result;
    result.split.reserve(node.type.shape.dims.size());
    for (DimId d : node.type.shape.dims)
      result.split.push_back(result_axes(node, d, layout));
    if (passes_partial(node)) {
      result.partial = layout_of(home(names_.of(node.inputs[0]).base).value).partial;
      made.inexact = true;
    }
    add_partial(id, layout, result, made);
    made.value = add_value(node, std::string(path_of(node)), result, Storage::temporary);

    Instruction& instruction = program_.code.emplace_back();
    instruction.action = Compute{lower(graph_, node, program_.mesh, layout),
                                 std::string(node.op->name), node.op->in_place};
    instruction.inputs = std::move(operands);
    instruction.results = {made.value};
    instruction.origin = node.origin;
    instruction.phase = node.phase;
    count_flops(node, layout, instruction);
    return made;
  }

  AxisList result_axes(const Node& node, DimId d, const OpLayout& layout) const {
    if (const auto* blocks = node.attrs.get<DimPairs>("blocks"))
      for (const auto& [summed, image] : *blocks)
        if (image == d)
          return exact_split(graph_, node, summed, program_.mesh, layout.of(summed))
                     ? layout.of(summed)
                     : AxisList{};
    return layout.of(d);
  }

  // Axes of reduced dims, innermost dim first and minor to major within a dim, unless kept as
  // blocks.
  void add_partial(NodeId id, const OpLayout& layout, Layout& result, Home& made) {
    const Node& node = graph_[id];
    if (!node.op->role)
      return;
    bool exact = true;
    std::vector<DimId> summed = layout.dims;
    const std::span<const DimId> order = summed_dims(node);
    std::stable_sort(summed.begin(), summed.end(), [&](DimId a, DimId b) {
      auto at = [&](DimId d) { return std::find(order.begin(), order.end(), d) - order.begin(); };
      return at(a) < at(b);
    });
    for (size_t i = summed.size(); i-- > 0;) {
      const DimId d = summed[i];
      const AxisList& axes = layout.of(d);
      if (axes.empty() || role_of(node, d) != Role::reduced)
        continue;
      const bool kept =
          block_image(node, d).index >= 0 && exact_split(graph_, node, d, program_.mesh, axes);
      if (kept)
        continue;
      result.partial.insert(result.partial.end(), axes.rbegin(), axes.rend());
      exact = exact && node.op->order_free;
      if (!node.op->order_free && is_sum(node))
        findings_.inexact(graph_, id, d, axes);
    }
    if (is_sum(node)) {
      ++program_.sums;
      program_.exact_sums += exact;
    }
    made.inexact = made.inexact || !exact;
  }

  bool is_sum(const Node& node) const {
    if (node.op->reduction != Reduction::sum || node.op->order_free)
      return false;
    const std::span<const DimId> dims = summed_dims(node);
    return std::any_of(dims.begin(), dims.end(),
                       [&](DimId d) { return role_of(node, d) == Role::reduced; });
  }

  void count_flops(const Node& node, const OpLayout& layout, Instruction& instruction) const {
    const bool over_space = node.op->role != nullptr;
    double local = node.op->flops_per_point, all = local;
    for (DimId d : over_space ? layout.dims : node.type.shape.dims) {
      const auto size = static_cast<double>(graph_[d].size);
      all *= size;
      local *= size / program_.mesh.size(layout.of(d));
    }
    instruction.flops = local;
    instruction.unique_flops = all;
  }

  // ---- operands and conversions ------------------------------------------------------------
  ValueId operand(NodeId in, const Node& reader, const OpLayout& layout) {
    const Alias& alias = names_.of(in);
    const Node& base = graph_[alias.base];
    Layout wanted;
    wanted.split.reserve(base.type.shape.dims.size());
    for (DimId d : base.type.shape.dims)
      wanted.split.push_back(layout.of(alias.from_base(d)));
    ValueId v;
    if (names_.generated(alias.base)) {
      v = generate(alias.base, wanted, reader.phase);
    } else {
      if (passes_partial(reader))
        wanted = layout_of(home(alias.base).value);
      v = conversions_.convert(home(alias.base).value, home(alias.base).reduction, wanted,
                               reader.phase);
    }
    return alias.renamed.empty() ? v : conversions_.renamed(v, alias, in);
  }

  ValueId generate(NodeId id, const Layout& wanted, Phase phase) {
    const Node& node = graph_[id];
    ValueId& known = generated_[{id, Key{wanted.split, phase}}];
    if (known.index >= 0)
      return known;
    if (node.op->kernel.empty()) {
      place_leaf(id, node);
      return generated_[{id, Key{wanted.split, phase}}] = home(id).value;
    }
    OpLayout layout{node.type.shape.dims, wanted.split};
    std::vector<ValueId> operands;
    for (NodeId in : node.inputs)
      operands.push_back(operand(in, node, layout));
    const Phase own = node.phase;
    const ValueId v = emit(id, layout, operands).value;
    program_.code.back().phase = own == Phase::update ? own : phase;
    return generated_[{id, Key{wanted.split, phase}}] = v;
  }

  // A gradient arrives where its parameter rests, whatever other value it is the gradient of too.
  std::vector<AxisList> rest_of_output(const Named& output, const Alias& alias) {
    const Node& base = graph_[alias.base];
    if (!output.name.starts_with("gradient:"))
      return rest_of(base);
    std::vector<DimId> seen;
    for (DimId d : base.type.shape.dims)
      seen.push_back(alias.from_base(d));
    return walk(dims_of(seen), program_.mesh, rules_.for_tensor(output.name.substr(9)));
  }

  void bind_output(const Named& output) {
    const Alias& alias = names_.of(output.node);
    const Layout rest{rest_of_output(output, alias), {}};
    const Phase phase = graph_[alias.base].phase;
    const Home& at = home(alias.base);
    ValueId v = names_.generated(alias.base)
                    ? generate(alias.base, rest, phase)
                    : conversions_.convert(at.value, at.reduction, rest, phase);
    if (!alias.renamed.empty())
      v = conversions_.renamed(v, alias, output.node);
    program_.outputs.push_back({output.name, v});
  }

  const Graph& graph_;
  const LayoutRules& rules_;
  LayoutFindings& findings_;
  Names names_;
  Program program_;
  std::vector<Home> home_;
  Conversions conversions_;
  std::map<std::pair<NodeId, Key>, ValueId> generated_;
  std::map<const std::vector<LayoutRule>*, std::map<std::vector<DimId>, Walked>> walked_;
};

}  // namespace

Program partition(const Graph& graph, const Mesh& mesh, const LayoutRules& rules,
                  std::string program_name, LayoutFindings& findings) {
  return Partitioner(graph, mesh, rules, std::move(program_name), findings).run();
}

}  // namespace mtf
