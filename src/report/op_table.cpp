#include "report/op_table.h"

#include <fmt/format.h>

#include "ops/op.h"

namespace mtf {
namespace {

std::string_view word(AttrKind kind) {
  switch (kind) {
    case AttrKind::boolean:
      return "true or false";
    case AttrKind::integer:
      return "integer";
    case AttrKind::number:
      return "number";
    case AttrKind::word:
      return "word";
    case AttrKind::dim:
      return "dim";
    case AttrKind::dims:
      return "dims";
    case AttrKind::dim_map:
      return "map of dims";
    case AttrKind::dtype:
      return "dtype";
    case AttrKind::text:
      return "text";
  }
  return "";
}

std::string_view word(Role role) {
  switch (role) {
    case Role::kept:
      return "kept";
    case Role::reduced:
      return "reduced";
    case Role::whole:
      return "whole";
    case Role::stencil:
      return "stencil";
  }
  return "";
}

bool is_dim(const AttrDef& a) {
  return a.kind == AttrKind::dim || a.kind == AttrKind::dims;
}

// Asks the op itself: a node in which every attribute that names dims names one of its own.
std::string roles(const OpDef& op) {
  if (op.build)
    return "those of its steps";
  if (op.name_only)
    return "kept, no work";
  if (!op.role)
    return op.movement ? "kept, runs where its operand lies" : "kept";
  Graph graph;
  Node node;
  node.op = &op;
  for (const AttrDef& a : op.attributes) {
    if (!is_dim(a))
      continue;
    const DimId d = graph.add_dim({std::string(a.name), 1, {}, {}});
    if (a.kind == AttrKind::dim)
      node.attrs.set(a.name, d);
    else
      node.attrs.set(a.name, std::vector<DimId>{d});
  }
  std::string out;
  for (const AttrDef& a : op.attributes)
    if (is_dim(a))
      out += fmt::format("`{}` {}, ", a.name, word(op.role(graph, node, graph.find_dim(a.name))));
  return out + "others kept";
}

std::string operands(const OpDef& op) {
  if (op.max_operands < 0)
    return fmt::format("{} or more", op.min_operands);
  if (op.min_operands == op.max_operands)
    return std::to_string(op.min_operands);
  return fmt::format("{} to {}", op.min_operands, op.max_operands);
}

std::string flops(const OpDef& op) {
  if (op.build)
    return "those of its steps";
  if (op.flops_per_point == 0)
    return "0";
  return fmt::format("{:g} per {}", op.flops_per_point, op.role ? "point" : "element");
}

std::string_view gradient(const OpDef& op) {
  if (op.gradient)
    return "yes";
  return op.build ? "by its steps" : "none";
}

std::string attributes(const OpDef& op) {
  std::string out;
  for (const AttrDef& a : op.attributes)
    out += fmt::format("{}`{}` ({}{}{}{}): {}", out.empty() ? "" : "<br>", a.name, word(a.kind),
                       a.range.text().empty() ? "" : ", ", a.range.text(),
                       a.required ? ", required" : "", a.summary);
  return out;
}

}  // namespace

std::string ops_as_text() {
  std::string out;
  for (const OpDef* op : all_ops())
    if (!op->internal)
      out += fmt::format("{:<24} {}\n", op->name, op->summary);
  return out;
}

std::string ops_as_markdown() {
  std::string out;
  for (const OpFamily& family : op_families()) {
    out += fmt::format(
        "### {}\n\n| op | gives | operands | attributes | dims | FLOPs | gradient |\n"
        "|---|---|---|---|---|---|---|\n",
        family.name);
    for (const OpDef& op : family.ops)
      if (!op.internal)
        out += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", op.name, op.summary,
                           operands(op), attributes(op), roles(op), flops(op), gradient(op));
    out += "\n";
  }
  return out;
}

}  // namespace mtf
