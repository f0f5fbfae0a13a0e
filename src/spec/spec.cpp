// read_spec: document → structs → the checks that need no model.
#include "spec/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "spec/dims.h"
#include "spec/document.h"
#include "spec/reader.h"

namespace mtf {
namespace {

// Evaluates every dim of the table. Returns whether all have a size.
bool check_dims(DimTable& table, const std::vector<DimSpec>& dims) {
  bool all = true;
  for (const DimSpec& dim : dims)
    all = table.size(dim.name, dim.span).has_value() && all;
  return all;
}

std::vector<std::string> names_of(const std::vector<DimSpec>& dims) {
  std::vector<std::string> names;
  for (const DimSpec& dim : dims)
    names.push_back(dim.name);
  return names;
}

// `like:` must lead to a dim that has rules of its own.
void check_like(const DimTable& table, const std::vector<DimSpec>& dims, const Spec& spec,
                Diagnostics& diagnostics) {
  for (const DimSpec& dim : dims) {
    const SourceSpan where = spec.span("dims." + dim.name + ".like");
    if (!dim.like.empty() && !table.find(dim.like)) {
      const std::vector<std::string> names = names_of(dims);
      diagnostics.add({Code::dims_expression,
                       fmt::format("'{}' is like '{}', which is no dim", dim.name, dim.like),
                       where,
                       {},
                       suggest(dim.like, where, names, "the dims are " + listed(names))});
      continue;
    }
    const DimSpec* at = &dim;
    for (size_t steps = 0; at != nullptr && !at->like.empty() && steps <= dims.size(); ++steps)
      at = table.find(at->like);
    if (at != nullptr && !at->like.empty())
      diagnostics.add({Code::dims_expression,
                       fmt::format("'{}' is like itself in the end", dim.name),
                       where,
                       {},
                       "name a dim that has rules of its own"});
  }
}

// `data.batch` must be a dim. Goes on with the one that is meant.
void check_batch(Spec& spec, const DimTable& table, Diagnostics& diagnostics) {
  const YamlNode* batch = spec.document.at("data.batch");
  if (!spec.data || !batch || !batch->is_scalar() || table.find(batch->text))
    return;
  const std::vector<std::string> names = names_of(spec.dims);
  Help help = suggest(batch->text, batch->span, names,
                      names.empty() ? "the spec has no `dims:`" : "the dims are " + listed(names));
  spec.data->batch = help.meant();
  diagnostics.add({Code::dims_expression,
                   fmt::format("'{}', which is to count the examples, is no dim", batch->text),
                   batch->span,
                   {},
                   std::move(help)});
}

// Goes on with one microbatch after a mistake in their number.
void check_train(Spec& spec, DimTable& table, Diagnostics& diagnostics) {
  if (!spec.train)
    return;
  if (!spec.has("data"))
    diagnostics.add({Code::spec_missing_key,
                     "training needs 'data'",
                     spec.span("train"),
                     {},
                     "give `data:`, such as data: {text: corpus/*.txt, tokenizer: bytes}"});
  std::string batch_name = spec.data ? spec.data->batch : "batch";
  int64_t microbatches = spec.train->microbatches;
  if (microbatches == 1)
    return;
  SourceSpan where = spec.span("train.microbatches");
  std::optional<int64_t> batch;
  if (batch_name.empty())  // it was reported
    spec.train->microbatches = 1;
  else if (table.find(batch_name) == nullptr)
    diagnostics.add(
        {Code::train_microbatches,
         fmt::format("microbatches cut the dim '{}', which the spec does not have", batch_name),
         where,
         {},
         {}});
  else
    batch = table.size(batch_name, where);
  const bool divides = batch && *batch % microbatches == 0;
  if (!divides)
    spec.train->microbatches = 1;
  if (batch && !divides)
    diagnostics.add(
        {Code::train_microbatches,
         fmt::format("{}={} is not divisible into {} microbatches", batch_name, *batch,
                     microbatches),
         where,
         {{table.find(batch_name)->span, fmt::format("'{}' is given here", batch_name)}},
         fmt::format("{} microbatches would do", divisors(*batch, microbatches))});
}

void check_synthetic(const Spec& spec, DimTable& table) {
  if (!spec.data)
    return;
  for (const SyntheticInput& input : spec.data->synthetic)
    if (!input.below.empty())
      table.evaluate(input.below, input.below_span);
}

void check_tokenizer(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.data && spec.data->tokenizer != "bytes")
    diagnostics.add({Code::spec_later,
                     "this version of mtf has one tokenizer, `bytes`",
                     spec.span("data.tokenizer"),
                     {},
                     "write `tokenizer: bytes`, or leave it out"});
}

bool rules_use(const std::vector<LayoutRule>& rules, AxisId axis) {
  for (const LayoutRule& rule : rules)
    for (const LayoutRule::Use& use : rule.axes)
      if (use.axis == axis)
        return true;
  return false;
}

// The dims that no rule splits, if there are any: "; no rule splits heads and vocab yet".
std::string whole_dims(const Spec& spec, const LayoutRules& layout) {
  std::vector<std::string> whole;
  for (const DimSpec& d : spec.dims)
    if (std::none_of(layout.rules.begin(), layout.rules.end(), [&](const LayoutRule& rule) {
          return rule.dim == d.name && !rule.axes.empty();
        }))
      whole.push_back(d.name);
  return whole.empty() ? "" : "; no rule splits " + listed(whole) + " yet";
}

// `path`: of the mesh in the spec.
void warn_of_unused_axes(const Spec& spec, const Mesh& mesh, const LayoutRules& layout,
                         const std::string& path, Diagnostics& diagnostics) {
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    AxisId id{static_cast<int8_t>(i)};
    const Axis& axis = mesh.axes[i];
    bool used = rules_use(layout.rules, id);
    for (const auto& [pattern, rules] : layout.tensors)
      used = used || rules_use(rules, id);
    if (!used)
      diagnostics.add(
          {Code::mesh_axis_unused,
           fmt::format("no layout rule uses the axis '{}': its {} ranks all do the same work",
                       axis.name, axis.size),
           spec.span(path + "." + axis.name),
           {},
           fmt::format("give it to a dim in `layout:`, alone or in a list of axes, or leave it out "
                       "of the mesh{}",
                       whole_dims(spec, layout))});
  }
}

// The name becomes part of a path: runs/NAME.
void check_name(Spec& spec, const std::string& path, Diagnostics& diagnostics) {
  if (spec.name.empty())
    spec.name = path == "-" ? "spec" : std::filesystem::path(path).stem().string();
  bool plain = !spec.name.starts_with('.') && !spec.name.starts_with('-');
  for (char c : spec.name)
    plain = plain && (c == '-' || c == '.' || is_name(std::string("_") + c));
  if (!plain && spec.has("name"))
    diagnostics.add({Code::spec_range,
                     "'name' names a directory: letters, digits, - _ and . only",
                     spec.span("name"),
                     {},
                     {}});
}

}  // namespace

SourceSpan Spec::span(std::string_view path) const {
  const YamlNode* node = &document;
  SourceSpan span{document.span.file, 1, 1, 1};
  while (!path.empty()) {
    size_t dot = path.find('.');
    node = node->find(path.substr(0, dot));
    if (node == nullptr)
      break;
    span = node->span;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return span;
}

SourceSpan Spec::span(std::string_view path, std::string_view word) const {
  if (const YamlNode* node = document.at(path)) {
    for (const YamlNode& item : node->items)
      if (item.text == word)
        return item.span;
    for (const auto& [key, value] : node->entries)
      if (key.text == word)
        return key.span;
  }
  return span(path);
}

bool Spec::has(std::string_view path) const {
  const YamlNode* node = document.at(path);
  return node != nullptr && !node->is_null();
}

Spec read_spec(Sources& sources, const std::string& path, const std::vector<Override>& overrides,
               Diagnostics& diagnostics) {
  Spec spec;
  spec.document = read_document(sources, path, overrides, diagnostics);
  if (spec.document.is_null())
    return spec;
  Reader(sources, diagnostics, spec).read_all();

  const YamlNode* dims = spec.document.find("dims");
  if (dims != nullptr && !dims->is_null() && !dims->is_map())
    return spec;  // nothing that names a dim can be judged
  DimTable table(diagnostics, spec.dims);
  bool sized = check_dims(table, spec.dims);
  check_like(table, spec.dims, spec, diagnostics);
  check_batch(spec, table, diagnostics);
  check_train(spec, table, diagnostics);
  check_synthetic(spec, table);
  check_tokenizer(spec, diagnostics);
  check_name(spec, path, diagnostics);
  if (!diagnostics.has_errors()) {  // an axis may have been dropped for an error
    warn_of_unused_axes(spec, spec.mesh, spec.layout, "mesh", diagnostics);
    if (spec.has("infer.mesh"))
      warn_of_unused_axes(spec, spec.infer.mesh, spec.infer.layout, "infer.mesh", diagnostics);
  }
  if (sized && spec.has("infer.dims")) {
    DimTable infer_table(diagnostics, spec.infer.dims);
    check_dims(infer_table, spec.infer.dims);
  }
  spec.buildable = spec.model.is_map();
  return spec;
}

}  // namespace mtf
