// Walks the steps of a model and of the blocks it uses and makes the nodes of the Graph. A step
// that fails gives an unknown value, which later steps accept in silence: one mistake, one message.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/frame.h"
#include "model/model.h"
#include "model/model_dims.h"

namespace mtf {

// Ops and steps of a model, copies of repeats included.
constexpr size_t max_model_size = size_t{1} << 17;

class Interpreter {
 public:
  Interpreter(const Spec& spec, Sources& sources, const Numerics& numerics,
              Diagnostics& diagnostics, BuildOptions options);

  std::optional<Model> run();
  Graph part();  // what sound_part gives

 private:
  // What the key of a step calls.
  struct Target {
    enum class Kind : uint8_t { none, op, block, pass, repeat, reported };
    Kind kind = Kind::none;
    const OpDef* op = nullptr;
    const Block* block = nullptr;
    bool chosen = false;  // by `choose:`: operands beyond those that it takes are dropped
  };
  struct Call {                   // a step, taken apart
    const Entry* head = nullptr;  // the key that names an op or block, and its operands
    Target target;
    std::vector<const Entry*> attributes;
    const YamlNode* with = nullptr;
    std::string path;  // of the step
  };

  void run_model();
  void report_unused_dims();
  bool open(Frame& frame, const YamlNode* given);
  void close(Frame& frame);
  // False if the map has other keys than a and b: what they should say is then unknown.
  bool check_keys(const YamlNode& map, std::string_view a, std::string_view b,
                  const std::string& whose);
  void declare_inputs(Frame& frame);
  void declare_params(Frame& frame);
  void choose(Frame& frame);
  void define(Frame& frame, const YamlNode::Key& key, Value value, bool should_be_read);
  void name_results(Frame& frame);

  void run_steps(Frame& frame);
  Value run_step(Frame& frame, const Entry& step);
  std::optional<Call> take_apart(Frame& frame, const Entry& step);
  Target find_target(Frame& frame, std::string_view word, SourceSpan where);
  Target find_unchosen(const Block& block, std::string_view word, SourceSpan where);
  Target report_unknown_op(Frame& frame, const YamlNode::Key& key);  // gives what is meant

  Value apply(Frame& frame, const Call& call);
  static int cause_of(const std::vector<Value>& operands);  // of one that is unknown; -1: none is
  Value apply_pass(const Call& call, std::vector<Value> operands);
  Value apply_op(Frame& frame, const Call& call, std::vector<Value> operands);
  Value apply_repeat(Frame& frame, const Call& call);
  std::optional<int64_t> read_times(Frame& frame, const Call& call);
  size_t size() const;
  bool may_grow(SourceSpan where);  // false after a diagnostic: the model is too large
  bool copies_fit(const YamlNode& block, int64_t times, size_t each);
  Value call_block(const Call& call, const Block& block, std::vector<Value> operands,
                   const std::string& path);
  bool bind_takes(Frame& frame, const Call& call, std::vector<Value> operands);
  Value gives(Frame& frame);

  std::vector<Value> read_operands(Frame& frame, const YamlNode& node);
  Value read(Frame& frame, const YamlNode& name);
  NodeId node_of(const Value& value, SourceSpan where);
  void make_leaf(Declared& parameter);
  FindDim dims_at(size_t depth);

  Value report(Code code, SourceSpan where, std::string message, Help help = {});
  int first_error_since(size_t findings) const;  // -1: there is none
  void hand_over(Diagnostics& to);

  const Spec& spec_;
  Diagnostics& diagnostics_;
  BuildOptions options_;
  Model model_;
  Diagnostics found_;
  Builder builder_;
  ModelDims dims_;
  ModelFiles files_;
  std::deque<Declared> declared_;
  std::set<const YamlNode*> used_blocks_;
  std::map<int, std::set<std::string>> unchecked_;  // by cause: steps that read unknown values
  size_t entered_ = 0;                              // steps and blocks so far
  bool too_large_ = false;                          // and reported
  std::vector<const YamlNode*> active_;  // the blocks in progress, to see one that uses itself
};

}  // namespace mtf
