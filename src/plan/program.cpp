// Programs as text: one line an instruction, the form that digests, goldens and people read.
#include "plan/program.h"

#include <fmt/format.h>

namespace mtf {
namespace {

std::string_view name_of(Reduction r) {
  switch (r) {
    case Reduction::sum:
      return "sum";
    case Reduction::max:
      return "max";
    case Reduction::min:
      return "min";
  }
  return "?";
}

std::string name_in(const Program& p, ValueId v) {
  return fmt::format("%{}", v.index) +
         (p[v].alias_of.index >= 0 ? fmt::format("=%{}", p[v].alias_of.index) : "");
}

std::string summed(const Program& p, const std::vector<Reduced>& reduced) {
  std::string out;
  for (const Reduced& r : reduced) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", p[r.dim].name);
    if (r.blocks > 1)
      out += fmt::format(":{}{}", r.blocks, r.kept.index >= 0 ? " kept" : "");
  }
  return "(" + out + ")";
}

std::string show_attr(const Program& p, const Attr& attr) {
  struct Show {
    const Program& p;
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return fmt::format("{}", d); }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(DType t) const { return std::string(mtf::name_of(t)); }
    std::string operator()(DimId d) const { return d.index < 0 ? "-" : p[d].name; }
    std::string operator()(const std::vector<DimId>& dims) const {
      std::string out;
      for (DimId d : dims)
        out += (out.empty() ? "" : " ") + p[d].name;
      return "[" + out + "]";
    }
    std::string operator()(const DimPairs& pairs) const {
      std::string out;
      for (const auto& [a, b] : pairs)
        out += fmt::format("{}{}:{}", out.empty() ? "" : " ", p[a].name, p[b].name);
      return "{" + out + "}";
    }
    std::string operator()(const std::vector<double>& list) const {
      return fmt::format("{} numbers", list.size());
    }
  };
  return std::visit(Show{p}, attr);
}

std::string details(const Program& p, const Compute& c) {
  std::string out;
  for (const Term& t : c.call.terms)
    out += summed(p, t.reduced);
  if (!c.call.reduced.empty())
    out += summed(p, c.call.reduced);
  for (const auto& [key, value] : c.call.attrs.items)
    if (key != "blocks" && key != "immediate" && key != "over")
      out += fmt::format(" {}={}", key, show_attr(p, value));
    else if (key == "over" && c.call.terms.empty() && c.call.reduced.empty())
      out += fmt::format(" over={}", show_attr(p, value));
  for (const BodyStep& s : c.call.body.steps)
    if (s.immediate != 0)
      out += fmt::format(" {}", s.immediate);
  return out;
}

struct ShowAction {
  const Program& p;
  std::string axis(AxisId a) const { return p.mesh.axes[static_cast<size_t>(a.index)].name; }
  std::string operator()(const Compute& c) const { return c.label + details(p, c); }
  std::string operator()(const AllReduce& a) const {
    return fmt::format("all_reduce {} over {} by {}", name_of(a.reduction), show(p.mesh, a.over),
                       mtf::name_of(a.algorithm));
  }
  std::string operator()(const AllGather& a) const {
    return fmt::format("all_gather {} over {}", p[a.dim].name, axis(a.over));
  }
  std::string operator()(const ReduceScatter& a) const {
    return fmt::format("reduce_scatter {} over {} by {}", p[a.dim].name, show(p.mesh, a.over),
                       mtf::name_of(a.algorithm));
  }
  std::string operator()(const AllToAll& a) const {
    return fmt::format("all_to_all {} to {} over {}", p[a.concat].name, p[a.split].name,
                       axis(a.over));
  }
  std::string operator()(const Shift& a) const {
    return fmt::format("shift {} by {} over {}{}", p[a.dim].name, a.offset, axis(a.over),
                       a.wrap ? " wrap" : "");
  }
  std::string operator()(const Slice& a) const {
    return fmt::format("slice {} over {}", p[a.dim].name, axis(a.over));
  }
};

}  // namespace

std::string_view name_of(Storage s) {
  switch (s) {
    case Storage::parameter:
      return "parameter";
    case Storage::gradient:
      return "gradient";
    case Storage::state:
      return "state";
    case Storage::cache:
      return "cache";
    case Storage::input:
      return "input";
    case Storage::output:
      return "output";
    case Storage::temporary:
      return "temporary";
  }
  return "?";
}

std::string_view name_of(Algorithm a) {
  switch (a) {
    case Algorithm::doubling:
      return "doubling";
    case Algorithm::halving:
      return "halving";
    case Algorithm::gather:
      return "gather";
  }
  return "?";
}

int64_t Value::local_elements() const {
  int64_t n = 1;
  for (int64_t s : local_sizes)
    n *= s;
  return n;
}

std::string show(const Mesh& mesh, const AxisList& axes) {
  std::string out;
  for (AxisId a : axes)
    out += (out.empty() ? "" : ", ") + mesh.axes[static_cast<size_t>(a.index)].name;
  return "[" + out + "]";
}

std::string show(const Program& p, const Value& v) {
  std::string dims;
  for (size_t i = 0; i < v.type.shape.dims.size(); ++i) {
    dims += (dims.empty() ? "" : ", ") + p[v.type.shape.dims[i]].name;
    for (AxisId a : v.layout.split[i])
      dims += "/" + p.mesh.axes[static_cast<size_t>(a.index)].name;
    dims += fmt::format("={}", v.local_sizes[i]);
  }
  std::string out = fmt::format("{} [{}]", name_of(v.type.dtype), dims);
  if (!v.layout.partial.empty())
    out += " partial " + show(p.mesh, v.layout.partial);
  return out;
}

std::string print(const Program& p, const Instruction& instruction) {
  std::string out, operands;
  for (size_t i = 0; i < instruction.results.size(); ++i)
    out += (i ? ", " : "") + name_in(p, instruction.results[i]);
  for (ValueId v : instruction.inputs)
    operands += (operands.empty() ? "" : ", ") + name_in(p, v);
  out += fmt::format(" = {} <- {}", std::visit(ShowAction{p}, instruction.action), operands);
  for (ValueId v : instruction.results)
    out += fmt::format(" : {}", show(p, p[v]));
  return out + "  @ " + instruction.origin.scope;
}

std::string print(const Program& p) {
  std::string out = fmt::format("program {} on {}\n", p.name, p.mesh.to_string());
  for (const Program::Binding& b : p.inputs)
    out += fmt::format("in  {} = {} : {}\n", name_in(p, b.value), b.name, show(p, p[b.value]));
  for (const Instruction& i : p.code)
    out += "    " + print(p, i) + "\n";
  for (const Program::Binding& b : p.outputs)
    out += fmt::format("out {} = {}\n", b.name, name_in(p, b.value));
  return out;
}

uint64_t digest(const Program& p) {  // FNV-1a, 64 bits
  uint64_t h = 14695981039346656037ull;
  for (const char c : print(p))
    h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

}  // namespace mtf
