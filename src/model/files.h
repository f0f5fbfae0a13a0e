// Models as written: the spec's own, and files of the library, each with the blocks it declares.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "spec/yaml.h"

namespace mtf {

struct ModelFile;

// A model, a layer or a block, all of one form: options, dims, params, choose, steps, what it
// gives.
struct Block {
  std::string name;  // in messages: "block 'layer'"
  const YamlNode* body = nullptr;
  const ModelFile* file = nullptr;                                  // whose blocks it may use
  SourceSpan span;                                                  // of its name
  bool is_layer() const { return body->find("takes") != nullptr; }  // else a model
};

struct ModelFile {
  YamlNode root;
  Block whole;  // the file itself
  std::map<std::string, Block, std::less<>> blocks;
  bool library = false;
  bool extends = false;  // parts of the spec come from another file
  bool sound = true;     // false: mistakes were reported
};

// What a step knows without the user's doing: no block or choice may be called so.
std::vector<std::string> step_words();

// What to say of a step or case that is neither op nor block nor one of the `others`.
Diagnostic unknown_op(std::string_view word, SourceSpan where, const ModelFile& file,
                      std::span<const std::string> others = {});

class ModelFiles {
 public:
  ModelFiles(Sources& sources, Diagnostics& diagnostics)
      : sources_(sources), diagnostics_(diagnostics) {}

  // The spec's own model: a map of inputs, params, blocks, steps, ...
  const ModelFile& own(const YamlNode& model, const YamlNode& document);

  // A file of the library, parsed at its first use; null if there is none of that name. `where` is
  // the place that asks for it.
  const ModelFile* library(std::string_view name, SourceSpan where);

  // The place in the user's own text that brought in the library file in which `place` lies; itself
  // if it lies in no library file.
  SourceSpan user_place(SourceSpan place) const;

 private:
  void check(ModelFile& file);
  void check_block(ModelFile& file, const Block& block, YamlNode& body);
  void check_choices(ModelFile& file, YamlNode& body);
  // Reports a name that would hide another, called `hidden`; none if that is empty.
  bool check_name(ModelFile& file, const std::string& whose, const YamlNode::Key& key,
                  std::string_view hidden);
  void error(ModelFile& file, Code code, SourceSpan where, std::string message, Help help = {});

  Sources& sources_;
  Diagnostics& diagnostics_;
  std::unique_ptr<ModelFile> own_;
  std::map<std::string, std::unique_ptr<ModelFile>, std::less<>> library_;
  std::map<int, SourceSpan> used_at_;  // by source file
};

}  // namespace mtf
