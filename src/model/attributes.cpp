#include "model/attributes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/scalars.h"

namespace mtf {
namespace {

constexpr std::pair<std::string_view, DType> dtypes[] = {
    {"f32", DType::f32}, {"f64", DType::f64}, {"bf16", DType::bf16},
    {"i32", DType::i32}, {"u8", DType::u8},   {"bool", DType::boolean}};

// What other tools call them.
constexpr std::pair<std::string_view, std::string_view> other_dtypes[] = {
    {"float", "f32"},   {"float32", "f32"},   {"double", "f64"},  {"float64", "f64"},
    {"bfloat", "bf16"}, {"bfloat16", "bf16"}, {"int", "i32"},     {"int32", "i32"},
    {"uint8", "u8"},    {"byte", "u8"},       {"boolean", "bool"}};

// In all of these nullopt comes after a diagnostic, but a dim that does not exist was reported and
// has index -1.
std::optional<DimId> read_dim(const YamlNode& node, std::string_view key, const FindDim& find_dim,
                              Diagnostics& diagnostics) {
  if (node.is_scalar())
    return find_dim(node.text, node.span);
  report_type(node, key, "a dim", diagnostics);
  return std::nullopt;
}

std::optional<DimPairs> read_dim_map(const YamlNode& node, std::string_view key,
                                     const FindDim& find_dim, Diagnostics& diagnostics) {
  if (!node.is_map()) {
    report_type(node, key, "a map from dims to dims", diagnostics);
    return std::nullopt;
  }
  DimPairs pairs;
  for (const auto& [from, value] : node.entries) {
    std::optional<DimId> to = read_dim(value, from.text, find_dim, diagnostics);
    if (!to)
      return std::nullopt;
    pairs.emplace_back(find_dim(from.text, from.span), *to);
  }
  return pairs;
}

std::optional<std::string> read_word(const YamlNode& node, const AttrDef& def,
                                     Diagnostics& diagnostics) {
  const std::vector<std::string> words(def.words.begin(), def.words.end());
  if (node.is_scalar() && std::find(words.begin(), words.end(), node.text) != words.end())
    return node.text;
  report_word(node, def.name, words, diagnostics);
  return std::nullopt;
}

template <class T>
std::optional<Attr> as_attr(std::optional<T> value) {
  return value ? std::optional<Attr>(std::move(*value)) : std::nullopt;
}

std::optional<Attr> read_attribute(const AttrDef& def, const YamlNode& node,
                                   const FindDim& find_dim, Diagnostics& d) {
  switch (def.kind) {
    case AttrKind::boolean:
      return as_attr(read_boolean(node, def.name, d));
    case AttrKind::integer:
      return as_attr(read_integer(node, def.name, def.range, d));
    case AttrKind::number:
      return as_attr(read_number(node, def.name, def.range, d));
    case AttrKind::word:
      return as_attr(read_word(node, def, d));
    case AttrKind::text:
      return as_attr(read_text(node, def.name, d));
    case AttrKind::dim:
      return as_attr(read_dim(node, def.name, find_dim, d));
    case AttrKind::dims:
      return as_attr(read_dims(node, def.name, find_dim, d));
    case AttrKind::dim_map:
      return as_attr(read_dim_map(node, def.name, find_dim, d));
    case AttrKind::dtype:
      return as_attr(read_dtype(node, def.name, d));
  }
  return std::nullopt;
}

bool names_unknown_dim(const Attr& attr) {
  auto bad = [](DimId d) { return d.index < 0; };
  if (const DimId* dim = std::get_if<DimId>(&attr))
    return bad(*dim);
  if (const auto* dims = std::get_if<std::vector<DimId>>(&attr))
    return std::any_of(dims->begin(), dims->end(), bad);
  if (const DimPairs* pairs = std::get_if<DimPairs>(&attr))
    return std::any_of(pairs->begin(), pairs->end(),
                       [&](const auto& p) { return bad(p.first) || bad(p.second); });
  return false;
}

const AttrDef* find_attribute(const OpDef& op, std::string_view name) {
  const auto def = std::find_if(op.attributes.begin(), op.attributes.end(),
                                [&](const AttrDef& a) { return a.name == name; });
  return def == op.attributes.end() ? nullptr : &*def;
}

Diagnostic unknown_attribute(const OpDef& op, const YamlNode::Key& key) {
  std::vector<std::string> known;
  for (const AttrDef& a : op.attributes)
    known.emplace_back(a.name);
  std::string all = known.empty() ? fmt::format("{} takes no attributes", op.name)
                                  : fmt::format("its attributes are {}", listed(known));
  return {Code::model_attribute,
          fmt::format("{} has no attribute '{}'", op.name, key.text),
          key.span,
          {},
          suggest(key.text, key.span, known, std::move(all))};
}

}  // namespace

std::optional<std::vector<DimId>> read_dims(const YamlNode& node, std::string_view key,
                                            const FindDim& find_dim, Diagnostics& diagnostics) {
  if (node.is_scalar())
    return std::vector<DimId>{find_dim(node.text, node.span)};
  if (!node.is_list()) {
    report_type(node, key, "a dim or a list of dims", diagnostics);
    return std::nullopt;
  }
  std::vector<DimId> dims;
  for (const YamlNode& item : node.items) {
    std::optional<DimId> dim = read_dim(item, key, find_dim, diagnostics);
    if (!dim)
      return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

std::optional<DType> read_dtype(const YamlNode& node, std::string_view key,
                                Diagnostics& diagnostics) {
  const auto dtype_of = [](std::string_view word) -> std::optional<DType> {
    for (const auto& [name, dtype] : dtypes)
      if (word == name)
        return dtype;
    return std::nullopt;
  };
  if (const std::optional<DType> dtype = node.is_scalar() ? dtype_of(node.text) : std::nullopt)
    return dtype;
  std::vector<std::string> known;
  for (const auto& [name, dtype] : dtypes)
    known.emplace_back(name);
  Help help = suggest(node.text, node.span, known);
  for (const auto& [theirs, ours] : other_dtypes)
    if (node.is_scalar() && node.text == theirs)
      help = rewritten(node, "write", std::string(ours));
  const std::string meant = help.meant();
  report_type(node, key, "one of f32, f64, bf16, i32, u8 and bool", diagnostics, std::move(help));
  return dtype_of(meant);
}

std::optional<Attrs> read_attributes(const OpDef& op, const std::vector<const Entry*>& given,
                                     const FindDim& find_dim, Diagnostics& diagnostics) {
  Attrs attrs;
  bool good = true;
  for (const Entry* entry : given) {
    const auto& [key, value] = *entry;
    if (value.is_null())
      continue;
    const AttrDef* def = find_attribute(op, key.text);
    if (!def) {
      Diagnostic unknown = unknown_attribute(op, key);
      def = find_attribute(op, unknown.help.meant());
      diagnostics.add(std::move(unknown));
    }
    if (!def) {
      good = false;
      continue;
    }
    std::optional<Attr> attr = read_attribute(*def, value, find_dim, diagnostics);
    good = good && attr && !names_unknown_dim(*attr);
    if (attr)
      attrs.set(def->name, std::move(*attr));
  }
  return good ? std::optional(std::move(attrs)) : std::nullopt;
}

}  // namespace mtf
