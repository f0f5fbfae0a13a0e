// The graphs of the programs of a run, all pure functions: init, accumulate, update, eval. What
// they hand to each other goes by name: parameters as PATH, optimizer state as PATH/m, gradients as
// gradient:PATH; outputs of init and update carry "parameter:" or "state:" before those names.
// Scalars between a program and the driver carry "driver:", which no name of a spec can have.
#pragma once

#include "model/model.h"

namespace mtf {

// No inputs. Outputs "parameter:PATH" for every parameter and, if the spec trains, "state:PATH/m"
// etc. for the optimizer's state, all zeros.
Graph init_graph(const Model& model, const Spec& spec, const Numerics& numerics);

// One microbatch, forward and backward. Inputs: the model's, and "driver:step" (i32), new for every
// run, if it draws random numbers. Outputs: "driver:loss_sum" and "driver:loss_count", which the
// driver adds up over microbatches, and "gradient:PATH" for every parameter that is trained. With
// several microbatches each gradient is added to a state leaf of its name, which the driver zeroes
// before a step; with `accumulate: blocks` it keeps its outermost block dim, if it has one. A loss
// that is no loss op has loss_sum = loss and loss_count = 1.
std::optional<Graph> accumulate_graph(const Spec& spec, Sources& sources, const Numerics& numerics,
                                      Diagnostics& diagnostics);

// The optimizer (docs/NUMERICS.md 8). Leaves: parameters, the gradients as accumulate_graph leaves
// them and optimizer state; scalar inputs "driver:loss_count", "driver:lr" and, for adam and adamw,
// "driver:one_minus_beta1_t" and "driver:sqrt_one_minus_beta2_t", which the driver computes in f64
// and rounds once. Outputs "parameter:PATH" and "state:PATH/m" etc.; with `clip` also
// "driver:gradient_norm", before the clip.
// A sample has one parameter of each type and decay: all there is to see where equal dims lie
// alike.
enum class Extent : uint8_t { whole, sample };
Graph update_graph(const Graph& accumulate, const TrainSpec& train, const Numerics& numerics,
                   Extent extent = Extent::whole);

// Forward without dropout. Input "driver:valid_examples" (i32), if something is counted over the
// batch: the examples beyond are padding. Outputs: the model's, "driver:loss_sum" and
// "driver:loss_count" if it has a loss, and for an output that is named as an input
// "driver:correct", how many of its entries equal that input's, and "driver:correct_count", of how
// many: those of padding, labels below 0 and the label that the loss ignores are left out.
std::optional<Graph> eval_graph(const Spec& spec, Sources& sources, const Numerics& numerics,
                                Diagnostics& diagnostics);

// The names of an optimizer's state tensors, each of its parameter's type: {"m", "v"} for adam.
std::vector<std::string> state_names(const Optimizer& optimizer);

}  // namespace mtf
