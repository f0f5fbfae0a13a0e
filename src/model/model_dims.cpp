#include "model/model_dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "spec/reader.h"

namespace mtf {
namespace {

constexpr int max_steps = 100;  // from dim to dim: `like` and sizes may go in circles

const DimSpec* find_in(const std::vector<DimSpec>& dims, std::string_view name) {
  auto it =
      std::find_if(dims.begin(), dims.end(), [&](const DimSpec& d) { return d.name == name; });
  return it == dims.end() ? nullptr : &*it;
}

// The words of an expression: names of dims (and `ceil`, which is none).
std::vector<std::string> words_of(const std::string& expression) {
  std::vector<std::string> words(1);
  for (char c : expression) {
    bool part = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (part)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  return words;
}

}  // namespace

ModelDims::ModelDims(const Spec& spec, int64_t microbatches, Graph& graph, Diagnostics& diagnostics)
    : spec_(spec),
      graph_(graph),
      diagnostics_(diagnostics),
      batch_(spec.data ? spec.data->batch : "batch"),
      spec_dims_(spec.dims),
      table_(diagnostics) {
  for (DimSpec& dim : spec_dims_) {
    if (dim.name == batch_ && microbatches > 1)
      dim.size = fmt::format("({}) / {}", dim.size, microbatches);
    table_.add(dim);
  }
  for (const DimSpec& dim : spec_dims_)  // in the order of read_spec: equal mistakes, equal words
    sized_ = table_.size(dim.name, dim.span).has_value() && sized_;
}

std::vector<DimSpec> ModelDims::read(const YamlNode* dims) {
  std::vector<DimSpec> out;
  if (!dims || dims->is_null())
    return out;
  const Sources no_paths;
  Spec unused;
  Reader(no_paths, diagnostics_, unused).read(*dims, {"dims", dims->span}, out);
  return out;
}

size_t ModelDims::enter(const YamlNode* dims, bool local, const std::string& scope) {
  Scope s;
  s.own = read(dims);
  s.path = scope;
  if (local) {
    s.local = std::make_unique<DimTable>(diagnostics_);
    for (const DimSpec& dim : s.own)
      s.local->add(dim);
    for (const DimSpec& dim : spec_dims_)
      s.local->add(dim);
  } else {
    for (const DimSpec& dim : s.own)
      table_.add(dim);
  }
  scopes_.push_back(std::move(s));
  return scopes_.size() - 1;
}

ModelDims::Place ModelDims::place_of(std::string_view name, size_t depth) {
  for (size_t i = std::min(depth + 1, scopes_.size()); i-- > 0;) {
    bool own_wins = scopes_[i].local != nullptr;
    const DimSpec* dim = find_in(scopes_[i].own, name);
    if (dim && (own_wins || !find_in(spec_dims_, name)))
      return {dim, &scopes_[i]};
  }
  return {find_in(spec_dims_, name), nullptr};
}

std::optional<int64_t> ModelDims::size_at(const Place& place, std::string_view name,
                                          SourceSpan where) {
  if (!place.scope) {
    used_.emplace(name);
    return table_.size(name, where);
  }
  for (const std::string& word : words_of(place.dim->size))
    used_.insert(word);
  if (place.scope->local)
    return place.scope->local->size(name, where);
  std::optional<int64_t> shared = table_.size(name, where);
  std::optional<int64_t> own = table_.evaluate(place.dim->size, place.dim->size_span);
  if (shared && own && *shared != *own) {
    diagnostics_.add({Code::dims_expression,
                      fmt::format("dim '{}' would be {} here and is {} elsewhere in this model",
                                  name, *own, *shared),
                      place.dim->span,
                      {{table_.find(name)->span, fmt::format("'{}' is {} here", name, *shared)}},
                      "give it another name, or write `local: true` in the block"});
    return std::nullopt;
  }
  return shared;
}

std::optional<int64_t> ModelDims::size(std::string_view name, SourceSpan where, size_t depth) {
  const Place place = place_of(name, depth);
  if (place.dim)
    return size_at(place, name, where);
  const std::string meant = meant_for(name, where, depth);
  return meant.empty() ? std::nullopt : size(meant, where, depth);
}

std::string ModelDims::meant_for(std::string_view name, SourceSpan where, size_t depth) {
  std::vector<std::string> known;
  for (const DimSpec& dim : spec_dims_)
    known.push_back(dim.name);
  for (size_t i = 0; i < std::min(depth + 1, scopes_.size()); ++i)
    for (const DimSpec& dim : scopes_[i].own)
      known.push_back(dim.name);
  const bool is_own = where.file == spec_.document.span.file;  // else it cannot be mended there
  return table_.report_missing(name, where, known, is_own);
}

DimId ModelDims::find(std::string_view name, SourceSpan where, size_t depth) {
  Place place = place_of(name, depth);
  if (!place.dim) {
    const std::string meant = meant_for(name, where, depth);
    return meant.empty() ? DimId{} : find(meant, where, depth);
  }
  if (place.scope) {
    auto it = place.scope->found.find(name);
    if (it != place.scope->found.end())
      return it->second;
  }
  std::optional<int64_t> size = size_at(place, name, where);
  if (!size)
    return {};
  Dim dim{std::string(name), *size, std::string(name), {}};
  const DimSpec* like = place.dim;
  for (int steps = 0; like && !like->like.empty() && steps < max_steps; ++steps) {
    dim.rule = like->like;
    like = place_of(like->like, depth).dim;
  }
  if (!add_padding(dim, pad_of(*place.dim, depth), *place.dim))
    return {};
  DimId there = graph_.find_dim(name);
  if (there.index >= 0 && (graph_[there].true_size() != *size || graph_[there].size != dim.size))
    dim.name = fmt::format("{}@{}", name, place.scope->path);
  DimId id = graph_.add_dim(dim);
  if (place.scope)
    place.scope->found.emplace(name, id);
  return id;
}

// Its own; else that of the dim it is like, or whose size it has.
int64_t ModelDims::pad_of(const DimSpec& dim, size_t depth) {
  const DimSpec* d = &dim;
  for (int steps = 0; d && steps < max_steps; ++steps) {
    if (d->pad) {
      padding_.insert(d);
      return std::max<int64_t>(*d->pad, 1);  // what is below has been reported
    }
    d = place_of(d->like.empty() ? d->size : d->like, depth).dim;
  }
  return 1;
}

bool ModelDims::add_padding(Dim& dim, int64_t multiple, const DimSpec& written) {
  const int64_t beyond = dim.size % multiple;
  dim.padding = beyond > 0 ? multiple - beyond : 0;
  if (dim.padding > max_dim_size - dim.size) {
    diagnostics_.add({Code::dims_expression,
                      fmt::format("'{}'={} rounded up to a multiple of {} is more than {}",
                                  dim.name, dim.size, multiple, with_commas(max_dim_size)),
                      written.span,
                      {},
                      {}});
    return false;
  }
  dim.size += dim.padding;
  return true;
}

DimId ModelDims::batch() const {
  return graph_.find_dim(spec_.data ? spec_.data->batch : "batch");
}

void ModelDims::report_unused() {
  if (spec_.data)
    for (const SyntheticInput& input : spec_.data->synthetic)
      for (const std::string& word : words_of(input.below))
        used_.insert(word);
  for (bool grown = true; grown;) {  // sizes of used dims use dims
    size_t before = used_.size();
    for (const DimSpec& dim : spec_dims_)
      if (used_.contains(dim.name))
        for (const std::string& word : words_of(dim.size + " " + dim.like))
          used_.insert(word);
    grown = used_.size() > before;
  }
  for (const DimSpec& dim : spec_dims_) {
    if (!used_.contains(dim.name))
      diagnostics_.add({Code::dims_unused,
                        fmt::format("nothing uses dim '{}'", dim.name),
                        dim.span,
                        {},
                        "leave it out"});
    else if (dim.pad.value_or(1) > 1 && !padding_.contains(&dim))
      diagnostics_.add({Code::dims_unused,
                        fmt::format("'pad' of '{}' pads nothing: no tensor has this dim", dim.name),
                        spec_.span("dims." + dim.name + ".pad"),
                        {},
                        "leave the `pad:` out"});
  }
}

}  // namespace mtf
