// Each node is copied once. What depends on parameters and indices alone is "fixed": computed whole
// and sliced where new positions read it. What depends on inputs is "moving": its T, and the past
// dim that a rename of T makes, have only the new positions, until an op meets T and the past dim
// together; there the past operand is written into its cache, which has all positions.
#include "model/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "ops/op.h"

namespace mtf {
namespace {

class Decoder {
 public:
  Decoder(const Graph& forward, const DecodeOptions& options, Diagnostics& diagnostics)
      : forward_(forward), options_(options), diagnostics_(diagnostics) {
    graph_.dims = forward.dims;
  }

  std::optional<Graph> run() {
    time_ = forward_.find_dim(options_.along);
    CHECK(time_.index >= 0, options_.along);
    const NodeId wanted = find_output();
    for (DimId d : decoded_dims(forward_, time_))
      fresh_[d] = fresh_dim(d);
    position_ = scalar("driver:position");
    count_ = scalar("driver:count");
    mark_needed(wanted);
    check_inputs();
    copied_.resize(forward_.nodes.size());
    for (int32_t i = 0; i <= wanted.index && good_; ++i)
      if (needed_[static_cast<size_t>(i)])
        copy({i});
    if (!good_)
      return std::nullopt;
    graph_.outputs.insert(graph_.outputs.begin(),
                          {options_.output, copied_[static_cast<size_t>(wanted.index)].node});
    return std::move(graph_);
  }

 private:
  struct Copied {
    NodeId node;
    bool moving = false;
  };

  NodeId find_output() const {
    for (const Named& o : forward_.outputs)
      if (o.name == options_.output)
        return o.node;
    CHECK(false, options_.output);
  }

  // While decoding, nothing but tokens is given.
  void check_inputs() {
    bool found = false;
    for (const Named& input : forward_.inputs) {
      if (!needed_[static_cast<size_t>(input.node.index)])
        continue;
      found = found || input.name == options_.tokens;
      if (input.name != options_.tokens)
        refuse(forward_[input.node].origin.span,
               fmt::format(
                   "'{}' depends on the input '{}', and decoding gives a model nothing but '{}'",
                   options_.output, input.name, options_.tokens),
               "");
    }
    if (!found)
      refuse(forward_[find_output()].origin.span,
             fmt::format("'{}' does not depend on '{}', so there is nothing to decode",
                         options_.output, options_.tokens),
             "name both with `infer: {tokens: INPUT, logits: OUTPUT}`");
  }

  void refuse(SourceSpan where, std::string message, std::string help) {
    diagnostics_.add({Code::infer_undecodable, std::move(message), where, {}, std::move(help)});
    good_ = false;
  }

  DimId fresh_dim(DimId d) {
    Dim dim = forward_[d];
    dim.rule = dim.rule.empty() ? dim.name : dim.rule;
    dim.name = new_positions(dim.name);
    dim.size = options_.positions;
    dim.padding = 0;
    return graph_.add_dim(dim);
  }

  NodeId scalar(const char* name) {
    Node n;
    n.op = find_op("input");
    n.attrs.set("name", std::string(name));
    n.type.dtype = DType::i32;
    n.origin.scope = name;
    const NodeId id = push(std::move(n));
    graph_.inputs.push_back({name, id});
    return id;
  }

  NodeId push(Node n) {
    n.composite = -1;
    graph_.nodes.push_back(std::move(n));
    return {static_cast<int32_t>(graph_.nodes.size()) - 1};
  }

  void mark_needed(NodeId wanted) {
    needed_.resize(forward_.nodes.size());
    needed_[static_cast<size_t>(wanted.index)] = 1;
    for (size_t i = needed_.size(); i-- > 0;)
      if (needed_[i])
        for (NodeId in : forward_.nodes[i].inputs)
          needed_[static_cast<size_t>(in.index)] = 1;
  }

  // ---- one node ----------------------------------------------------------------------------
  void copy(NodeId id) {
    const Node& old = forward_[id];
    Node n = old;
    Copied& out = copied_[static_cast<size_t>(id.index)];
    out.moving = old.op->name == "input" && !old.type.shape.dims.empty();
    for (NodeId in : old.inputs)
      out.moving = out.moving || copied_[static_cast<size_t>(in.index)].moving;
    if (!out.moving) {
      for (NodeId& in : n.inputs)
        in = copied_[static_cast<size_t>(in.index)].node;
      out.node = push(std::move(n));
      note_leaf(out.node);
      return;
    }
    const bool meets = meets_the_past(old);
    if (!check(old, meets))
      return;
    for (NodeId& in : n.inputs)
      in = operand(in, meets);
    to_fresh(n, meets);
    out.node = push(std::move(n));
    note_leaf(out.node);
  }

  void note_leaf(NodeId id) {
    const Node& n = graph_[id];
    const auto* name = n.attrs.get<std::string>("name");
    if (name && n.op->name == "input")
      graph_.inputs.push_back({*name, id});
    if (name && n.op->name == "parameter")
      graph_.parameters.push_back({*name, id});
  }

  bool is_past(DimId d) const { return d != time_ && fresh_.count(d); }

  // Does the op have T and a past dim in its iteration space, or sum a past dim?
  bool meets_the_past(const Node& old) const {
    if (old.op->name_only)
      return false;
    bool time = false, past = false, summed = false;
    auto look = [&](const Shape& s) {
      for (DimId d : s.dims) {
        time = time || d == time_;
        past = past || is_past(d);
        summed = summed || (is_past(d) && !old.type.shape.has(d));
      }
    };
    for (NodeId in : old.inputs)
      look(forward_[in].type.shape);
    look(old.type.shape);
    return past && (time || summed);
  }

  bool check(const Node& old, bool meets) {
    auto refuse_op = [&](DimId d, const char* what) {
      refuse(
          old.origin.span,
          fmt::format(
              "{} {} '{}' over positions, so this model cannot be decoded one position at a time",
              old.origin.scope, what, forward_[d].name),
          "only causal attention may look at other positions");
    };
    for (NodeId in : old.inputs)
      for (DimId d : forward_[in].type.shape.dims) {
        if (!fresh_.count(d) || old.op->name_only)
          continue;
        const Role role = old.op->role ? old.op->role(forward_, old, d) : Role::kept;
        const bool kept = role == Role::kept && (old.type.shape.has(d) || !old.op->movement);
        if (d == time_ && !kept)
          return refuse_op(d, "does not keep"), false;
        if (is_past(d) && !kept && !(meets && in_causal_attention(old)))
          return refuse_op(d, "does not keep"), false;
      }
    if (meets && !in_causal_attention(old))
      return refuse_op(time_, "mixes"), false;
    return true;
  }

  bool in_causal_attention(const Node& n) const {
    if (n.composite < 0)
      return false;
    const Composite& c = forward_.composites[static_cast<size_t>(n.composite)];
    return c.op->name == "attention" && c.attrs.get_or<bool>("causal", false);
  }

  // The operand as the copied node reads it.
  NodeId operand(NodeId in, bool meets) {
    const Copied from = copied_[static_cast<size_t>(in.index)];
    const Shape& shape = forward_[in].type.shape;
    NodeId at = from.node;
    for (DimId d : shape.dims) {
      if (!fresh_.count(d))
        continue;
      if (!from.moving && (d == time_ || !meets))
        at = sliced(at, d);
      else if (from.moving && is_past(d) && meets && graph_[at].type.shape.has(fresh_[d]))
        at = cached(in, at, d);
    }
    return at;
  }

  NodeId sliced(NodeId from, DimId d) {
    NodeId& known = slices_[{from, d}];
    if (known.index >= 0)
      return known;
    Node n;
    n.op = find_op("slice");
    n.inputs = {from, position_};
    n.attrs.set("over", d);
    n.attrs.set("to", fresh_[d]);
    n.attrs.set("start", int64_t{0});
    n.type = graph_[from].type;
    std::replace(n.type.shape.dims.begin(), n.type.shape.dims.end(), d, fresh_[d]);
    n.origin = graph_[from].origin;
    return known = push(std::move(n));
  }

  // Parts of a composite share a scope: its second cache is "cache:SCOPE#2".
  std::string cache_name(const std::string& scope) {
    const int count = ++caches_of_[scope];
    return "cache:" + scope + (count > 1 ? fmt::format("#{}", count) : "");
  }

  // Writes the new rows of an operand into its cache and gives the whole cache.
  NodeId cached(NodeId in, NodeId rows, DimId past) {
    NodeId& known = caches_[in];
    if (known.index >= 0)
      return known;
    const std::string name = cache_name(forward_[in].origin.scope);
    Node leaf;
    leaf.op = find_op("state");
    leaf.attrs.set("name", name);
    leaf.type = graph_[rows].type;
    std::replace(leaf.type.shape.dims.begin(), leaf.type.shape.dims.end(), fresh_[past], past);
    leaf.origin = graph_[rows].origin;
    const NodeId old = push(leaf);
    graph_.states.push_back({name, old});
    Node write;
    write.op = find_op("write_slice");
    write.inputs = {old, rows, position_, count_};
    write.attrs.set("over", past);
    write.attrs.set("from", fresh_[past]);
    write.type = leaf.type;
    write.origin = leaf.origin;
    known = push(std::move(write));
    graph_.outputs.push_back({name, known});
    return known;
  }

  // T, and before it meets the past the past dim too, have only the new positions.
  void to_fresh(Node& n, bool meets) {
    auto map = [&](DimId d) { return fresh_.count(d) && (d == time_ || !meets) ? fresh_[d] : d; };
    for (DimId& d : n.type.shape.dims)
      d = map(d);
    for (auto& [key, attr] : n.attrs.items) {
      if (auto* one = std::get_if<DimId>(&attr))
        *one = map(*one);
      else if (auto* list = std::get_if<std::vector<DimId>>(&attr))
        std::transform(list->begin(), list->end(), list->begin(), map);
      else if (auto* pairs = std::get_if<DimPairs>(&attr))
        for (auto& [a, b] : *pairs) {
          a = map(a);
          b = map(b);
        }
    }
  }

  const Graph& forward_;
  const DecodeOptions& options_;
  Diagnostics& diagnostics_;
  Graph graph_;
  DimId time_;
  NodeId position_, count_;
  std::map<DimId, DimId> fresh_;  // T and past dims -> their dims of new positions
  std::vector<char> needed_;      // by node of forward
  std::vector<Copied> copied_;
  std::map<std::pair<NodeId, DimId>, NodeId> slices_;
  std::map<NodeId, NodeId> caches_;
  std::map<std::string, int> caches_of_;  // by scope
  bool good_ = true;
};

}  // namespace

std::vector<DimId> decoded_dims(const Graph& forward, DimId along) {
  std::vector<DimId> found{along};
  for (const Node& n : forward.nodes)
    if (const auto* pairs = n.op->name_only ? n.attrs.get<DimPairs>("dims") : nullptr)
      for (const auto& [from, to] : *pairs)
        if (std::count(found.begin(), found.end(), from) &&
            !std::count(found.begin(), found.end(), to))
          found.push_back(to);
  return found;
}

std::string new_positions(const std::string& dim) {
  return dim + "@new";
}

std::optional<Graph> decode_graph(const Graph& forward, const DecodeOptions& options,
                                  Diagnostics& diagnostics) {
  return Decoder(forward, options, diagnostics).run();
}

}  // namespace mtf
