// Dims of a model by name: the spec's own, and below them the defaults that library files and
// blocks bring along. Each becomes a dim of the Graph when something uses it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "spec/dims.h"

namespace mtf {

class ModelDims {
 public:
  // `microbatches` divides the dim that counts examples.
  ModelDims(const Spec& spec, int64_t microbatches, Graph& graph, Diagnostics& diagnostics);

  // A block (or family) with its `dims:`, options replaced. Blocks see the dims of those around
  // them; find() takes the depth of the block that a name stands in: what enter() returned.
  // `local`: the block's dims are its own, even where the model has one of that name and another
  // size.
  size_t enter(const YamlNode* dims, bool local, const std::string& scope);
  void leave() { scopes_.pop_back(); }

  // The graph's dim; index -1 after a diagnostic.
  DimId find(std::string_view name, SourceSpan where, size_t depth);
  std::optional<int64_t> size(std::string_view name, SourceSpan where, size_t depth);

  bool sized() const { return sized_; }  // does every dim of the spec have a size?
  DimId batch() const;  // the dim that counts examples; index -1 while nothing uses it

  // Counts a name as used.
  void use(std::string_view name) { used_.emplace(name); }
  // A warning for each dim of the spec that neither the model nor a size nor the data uses, and for
  // each `pad` that pads no tensor.
  void report_unused();

 private:
  struct Scope {
    std::vector<DimSpec> own;
    std::unique_ptr<DimTable> local;  // null: sizes are in table_
    std::string path;
    std::map<std::string, DimId, std::less<>> found;
  };
  struct Place {  // who declares a name
    const DimSpec* dim = nullptr;
    Scope* scope = nullptr;  // null: the spec
  };

  Place place_of(std::string_view name, size_t depth);
  // Of a name that is no dim there: reports it.
  std::string meant_for(std::string_view name, SourceSpan where, size_t depth);
  std::optional<int64_t> size_at(const Place&, std::string_view name, SourceSpan where);
  std::vector<DimSpec> read(const YamlNode* dims);
  int64_t pad_of(const DimSpec&, size_t depth);
  bool add_padding(Dim& dim, int64_t multiple, const DimSpec& written);

  const Spec& spec_;
  Graph& graph_;
  Diagnostics& diagnostics_;
  std::string batch_;  // the dim that counts examples
  std::vector<DimSpec> spec_dims_;
  DimTable table_;
  bool sized_ = true;
  std::vector<Scope> scopes_;
  std::set<std::string, std::less<>> used_;
  std::set<const DimSpec*> padding_;  // whose `pad` a dim of the graph has
};

}  // namespace mtf
