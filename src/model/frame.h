// What names stand for while a block is being interpreted.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/files.h"
#include "model/initial.h"

namespace mtf {

// A declared parameter: becomes a leaf when something reads it. One that nothing reads does not
// exist.
struct Declared {
  std::string path;
  const YamlNode* dims = nullptr;
  const YamlNode* init = nullptr;  // null: the default
  SourceSpan span;
  size_t depth = 0;  // of the block that declares it, for ModelDims
  NodeId node;
  bool failed = false;  // its declaration was reported
  int cause = -1;       // by this finding
  std::optional<Init> value;
};

// A node, a parameter, or the map that a block gives. None of them: its step failed, and `cause` is
// the finding that says why.
struct Value {
  NodeId node;
  int cause = -1;
  Declared* parameter = nullptr;
  std::map<std::string, Value, std::less<>> members;

  bool unknown() const { return node.index < 0 && !parameter && members.empty(); }
};

struct Name {
  Value value;
  SourceSpan span;
  bool read = false;
  bool should_be_read = false;  // worth a warning if nothing reads it
};

// A block in progress. It sees its takes, parameters and steps, and nothing of the one that calls
// it.
struct Frame {
  const Block& block;
  YamlNode body;      // with options replaced
  std::string scope;  // "layers[3]/attention"; empty at the top
  size_t depth = 0;   // for ModelDims
  std::map<std::string, Name, std::less<>> names;
  std::set<std::string, std::less<>> missing;  // names that were reported as defined nowhere
  std::map<std::string, std::string, std::less<>> chosen;  // `choose:`; empty: reported
};

}  // namespace mtf
