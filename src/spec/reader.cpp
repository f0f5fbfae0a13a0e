// Values of a spec by their C++ type, but for the layout (layout_reader.cpp).
#include "spec/reader.h"

#include <fmt/format.h>

#include "base/text.h"
#include "spec/document.h"
#include "spec/language.h"
#include "spec/misplaced.h"

namespace mtf {
namespace {

constexpr size_t max_dims = 1024;
constexpr size_t max_axes = 16;

// "its keys are a and b", of the one map of this name; of its only key the form with the value.
std::string keys_of(std::string_view map, const YamlNode& value) {
  const KeyTable* table = nullptr;
  for_each_key([&](const std::string&, const KeyRow& row) {
    if (row.name == map && row.form == Form::keys)
      table = row.table;
  });
  if (!table)
    return map == "mesh"   ? "such as `mesh: {data: 4, model: 2}`"
           : map == "dims" ? "such as `dims: {batch: 32, length: 128}`"
                           : "";
  const std::vector<std::string> keys = table->names();
  return keys.size() == 1 && value.is_scalar()
             ? fmt::format("write `{}: {{{}: {}}}`", map, keys[0], value.text)
             : "its keys are " + listed(keys);
}

}  // namespace

void Reader::read_all() {
  mend_keys(spec_.document, diagnostics);
  mesh_ = &spec_.mesh;
  MapReader root(*this, spec_.document, "the spec", {spec_.document.span.file, 1, 1, 1});
  fields(root, spec_);
  root.finish();
  const YamlNode* infer = spec_.document.find("infer");
  if (infer == nullptr || !infer->is_map())
    start_infer();
}

bool Reader::expect_map(const YamlNode& node, const Key& key) {
  if (!node.is_map())
    report_type(node, key.text, "a map", diagnostics, keys_of(key.text, node));
  return node.is_map();
}

bool Reader::expect_name(const Key& key, std::string_view what) {
  if (is_name(key.text))
    return true;
  diagnostics.add({Code::spec_range,
                   fmt::format("'{}' cannot name {}: names have letters, digits and _, and start "
                               "with no digit",
                               key.text, what),
                   key.span,
                   {},
                   {}});
  return false;
}

void Reader::read(const YamlNode& node, const Key& key, int64_t& target, Range range) {
  target = read_integer(node, key.text, range, diagnostics).value_or(target);
}

void Reader::read(const YamlNode& node, const Key& key, double& target, Range range) {
  target = read_number(node, key.text, range, diagnostics).value_or(target);
}

void Reader::read(const YamlNode& node, const Key& key, std::string& target, Range) {
  if (auto text = read_text(node, key.text, diagnostics))
    target = std::move(*text);
}

void Reader::read(const YamlNode& node, const Key& key, std::array<double, 2>& target,
                  Range range) {
  if (!node.is_list() || node.items.size() != 2)
    return report_type(node, key.text, "a list of two numbers", diagnostics,
                       "for example [0.9, 0.999]");
  read(node.items[0], key, target[0], range);
  read(node.items[1], key, target[1], range);
}

void Reader::read(const YamlNode& node, const Key& key, std::vector<std::string>& target, Range) {
  if (!node.is_list())
    return read(node, key, target.emplace_back());
  for (const YamlNode& item : node.items)
    read(item, key, target.emplace_back());
}

void Reader::read(const YamlNode& node, const Key& key, YamlNode& target, Range) {
  if (expect_map(node, key))
    target = node;
}

void Reader::read_path(const YamlNode& node, const Key& key, std::string& target) {
  if (auto path = read_text(node, key.text, diagnostics))
    target = resolve_path(sources, node.span, *path);
}

void Reader::read(const YamlNode& node, const Key& key, NamedPath& target, Range) {
  target.name = key.text;
  target.span = key.span;
  read_path(node, key, target.path);
}

void Reader::read(const YamlNode& node, const Key& key, std::vector<NamedPath>& target, Range) {
  if (!expect_map(node, key))
    return;
  for (const auto& [name, path] : node.entries)
    if (!path.is_null())
      read(path, name, target.emplace_back());
}

void Reader::read(const YamlNode& node, const Key& key, std::vector<SyntheticInput>& target,
                  Range) {
  if (!expect_map(node, key))
    return;
  for (const auto& [name, how] : node.entries) {
    if (how.is_null())
      continue;
    SyntheticInput input;
    input.name = name.text;
    input.span = name.span;
    read(how, name, input);
    target.push_back(std::move(input));
  }
}

void Reader::read(const YamlNode& node, const Key& key, LearningRate& target, Range) {
  if (!node.is_map())
    return read(node, key, target.peak, at_least(0));
  MapReader map(*this, node, key.text, key.span);
  fields(map, target);
  map.finish();
}

void Reader::read(const YamlNode& node, const Key& key, Blocks& target, Range) {
  if (node.is_map()) {
    for (const auto& [dim, count] : node.entries) {
      if (count.is_null())
        continue;
      BlockCount& blocks = target.of_dim[dim.text];
      blocks = {1, dim.span, count.span};
      read(count, dim, blocks.count, between(1, 1 << 20));
    }
    return;
  }
  const std::optional<int64_t> usual =
      read_integer(node, key.text, between(1, 1 << 20), diagnostics);
  if (!usual)
    return;
  if (*usual >= 8 && (*usual & (*usual - 1)) == 0) {
    target.usual = *usual;
    return;
  }
  diagnostics.add(
      {Code::spec_range,
       fmt::format("'{}' is {}; for all sums it must be a power of two, at least 8", key.text,
                   *usual),
       node.span,
       {},
       fmt::format("write `{}: 16`, or give the sums over one dim a count of their own: "
                   "`{}: {{batch: {}}}`",
                   key.text, key.text, *usual)});
}

// A quoted expression is fine, a quoted number is a slip.
void Reader::read_expression(const YamlNode& node, const Key& key, std::string& text,
                             SourceSpan& span) {
  bool quoted_number = node.quoted && reads_as_number(node.text);
  if (!node.is_scalar() || node.text.empty() || quoted_number)
    return report_type(node, key.text, "an integer or an expression over dims", diagnostics,
                       quoted_number ? rewritten(node, "take the quotes off", node.text) : Help());
  text = node.text;
  span = node.span;
  bool as_written = span.length == static_cast<int>(text.size()) + 2;
  if (node.quoted && as_written)
    span = {span.file, span.line, span.column + 1, span.length - 2};
}

void Reader::read(const YamlNode& node, const Key& key, std::vector<DimSpec>& target, Range) {
  if (!expect_map(node, key))
    return;
  std::unordered_map<std::string, size_t> index;
  for (size_t i = 0; i < target.size(); ++i)
    index.emplace(target[i].name, i);
  for (const auto& [name, size] : node.entries) {
    if (size.is_null())
      continue;
    expect_name(name, "a dim");  // it is a dim all the same, so that its uses are not mistakes too
    DimSpec dim;
    dim.name = name.text;
    dim.span = name.span;
    if (size.is_map())
      read(size, name, dim);
    if (size.is_map() && size.find("size") == nullptr)
      diagnostics.add({Code::spec_missing_key,
                       fmt::format("dim '{}' needs 'size'", name.text),
                       name.span,
                       {},
                       {}});
    if (!size.is_map())
      read_expression(size, name, dim.size, dim.size_span);
    auto [place, is_new] = index.emplace(dim.name, target.size());
    if (is_new)
      target.push_back(std::move(dim));
    else
      target[place->second] = std::move(dim);
  }
  if (target.size() > max_dims) {
    diagnostics.add({Code::spec_range,
                     fmt::format("{} dims; there can be at most {}", target.size(), max_dims),
                     key.span,
                     {},
                     {}});
    target.resize(max_dims);
  }
}

void Reader::read(const YamlNode& node, const Key& key, Mesh& target, Range) {
  target.axes.clear();
  absent_axes_.clear();
  mesh_ = &target;
  if (!expect_map(node, key))
    return;
  int64_t ranks = 1;
  for (const auto& [name, size_node] : node.entries) {
    if (size_node.is_null())
      continue;
    expect_name(name, "an axis");
    std::optional<int64_t> size =
        read_integer(size_node, name.text, between(1, static_cast<double>(max_ranks)), diagnostics);
    if (size.value_or(1) == 1) {
      absent_axes_.push_back(name.text);
      continue;
    }
    if (ranks * *size > max_ranks || target.axes.size() == max_axes) {
      diagnostics.add({Code::spec_range,
                       fmt::format("a mesh has at most {} axes and {} ranks", max_axes, max_ranks),
                       name.span,
                       {},
                       {}});
      absent_axes_.push_back(name.text);
      continue;
    }
    ranks *= *size;
    target.axes.push_back({name.text, static_cast<int>(*size)});
  }
}

void Reader::start_infer() {
  spec_.infer.dims = spec_.dims;
  spec_.infer.mesh = spec_.mesh;
  spec_.infer.layout = spec_.layout;
}

void Reader::read(const YamlNode& node, const Key& key, InferSpec& target, Range) {
  start_infer();
  if (!expect_map(node, key))
    return;
  bool own_mesh = spec_.has("infer.mesh"), own_layout = spec_.has("infer.layout");
  if (own_mesh || own_layout)
    target.layout = {};
  MapReader map(*this, node, key.text, key.span);
  fields(map, target);
  map.finish();
  if (own_mesh && !own_layout && spec_.has("layout"))
    read(*spec_.document.find("layout"), key, target.layout);
}

}  // namespace mtf
