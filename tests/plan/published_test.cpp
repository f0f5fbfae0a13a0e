// Published numbers: the table of the Mesh TensorFlow paper (Shazeer et al. 2018, section 4) with
// exact bytes, its language models, sequence-split tensor parallelism (Korthikanti et al. 2022),
// and GPT-3.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <map>

#include "planning.h"

namespace mtf {
namespace {

using Sent =
    std::map<std::string, int64_t>;  // "axes scope phase" -> bytes of one device in one step

std::string phase_name(Phase phase) {
  return phase == Phase::forward ? "forward" : phase == Phase::backward ? "backward" : "update";
}

AxisList axes_of(const Action& action) {
  if (const auto* a = std::get_if<AllReduce>(&action))
    return a->over;
  if (const auto* r = std::get_if<ReduceScatter>(&action))
    return r->over;
  if (const auto* g = std::get_if<AllGather>(&action))
    return {g->over};
  return {};
}

// All bytes over 64; scalars and rows of a loss are left out.
Sent all_reduced(const Plan& plan) {
  Sent sent;
  for (const PlannedProgram& p : plan.programs)
    for (size_t i = 0; i < p.program.code.size(); ++i) {
      const Instruction& instruction = p.program.code[i];
      if (p.traffic[i].bytes <= 64)
        continue;
      REQUIRE(std::holds_alternative<AllReduce>(instruction.action));
      std::string axes;
      for (AxisId a : axes_of(instruction.action))
        axes += plan.mesh.axes[static_cast<size_t>(a.index)].name + " ";
      sent[axes + instruction.origin.scope + " " + phase_name(instruction.phase)] +=
          p.traffic[i].bytes;
    }
  return sent;
}

// An all-reduce of n bytes over p ranks: halving and doubling, or plain doubling of small ones and
// pairs.
int64_t all_reduce_bytes(int64_t n, int p) {
  const int64_t steps = p == 2 ? 1 : 2;
  return p == 2 || n < (32 << 10) ? n * steps : 2 * n * (p - 1) / p;
}

Sent two_layer(const std::string& mesh, const std::string& layout) {
  const Planned planned = plan_file("specs/two_layer.yaml", {"mesh=" + mesh, "layout=" + layout});
  INFO(planned.messages);
  REQUIRE(planned.plan);
  return all_reduced(*planned.plan);
}

TEST_CASE("two layers in the six layouts of the paper send its table, to the byte") {
  const int64_t b = 1024, io = 512, hidden = 4096, f32 = 4;
  CHECK(two_layer("{one: 1}", "{}") == Sent{});
  // batch: the gradients of w, v and the bias.
  CHECK(two_layer("{all: 4}", "{batch: all}") ==
        Sent{{"all h backward", all_reduce_bytes(io * hidden * f32, 4)},
             {"all y backward", all_reduce_bytes(io * hidden * f32, 4)},
             {"all hb backward", all_reduce_bytes(hidden * f32, 4)}});
  // hidden: y; the gradient of x is not wanted, x being data.
  CHECK(two_layer("{all: 4}", "{hidden: all}") ==
        Sent{{"all y forward", all_reduce_bytes(b * io * f32, 4)}});
  // batch in r rows, hidden in c columns: y over columns, gradients over rows, each a share of the
  // rest.
  const int r = 2, c = 2, p = 2;
  CHECK(two_layer("{rows: 2, cols: 2}", "{batch: rows, hidden: cols}") ==
        Sent{{"cols y forward", all_reduce_bytes(b / r * io * f32, c)},
             {"rows h backward", all_reduce_bytes(io * hidden / c * f32, r)},
             {"rows y backward", all_reduce_bytes(io * hidden / c * f32, r)},
             {"rows hb backward", all_reduce_bytes(hidden / c * f32, r)}});
  // io in rows, hidden in columns: h and its gradient over rows, y over columns, no gradient of a
  // weight.
  CHECK(two_layer("{rows: 2, cols: 2}", "{io: rows, hidden: cols}") ==
        Sent{{"rows h forward", all_reduce_bytes(b * hidden / c * f32, r)},
             {"rows y backward", all_reduce_bytes(b * hidden / c * f32, r)},
             {"cols y forward", all_reduce_bytes(b * io / r * f32, c)}});
  // The same with the batch in p planes: gradients of weights over planes. v's and the bias's go
  // together.
  CHECK(two_layer("{planes: 2, rows: 2, cols: 2}", "{batch: planes, io: rows, hidden: cols}") ==
        Sent{{"rows h forward", all_reduce_bytes(b / p * hidden / c * f32, r)},
             {"rows y backward", all_reduce_bytes(b / p * hidden / c * f32, r)},
             {"cols y forward", all_reduce_bytes(b / p * io / r * f32, c)},
             {"planes h backward", all_reduce_bytes(io / r * hidden / c * f32, p)},
             {"planes y backward", all_reduce_bytes(io / r * hidden / c * f32, p) +
                                       all_reduce_bytes(hidden / c * f32, p)}});
}

int64_t parameters(const Plan& plan) {
  int64_t n = 0;
  for (const Persistent& p : plan.resident.list)
    if (p.value.storage == Storage::parameter) {
      int64_t elements = 1;
      for (DimId d : p.value.type.shape.dims)
        elements *= plan.find("accumulate")->program[d].size;
      n += elements;
    }
  return n;
}

TEST_CASE("the seven language models of the paper have its parameter counts") {
  const std::vector<std::pair<int64_t, double>> table = {
      {4, 0.143}, {8, 0.218}, {16, 0.369}, {32, 0.671}, {64, 1.275}, {128, 2.483}, {256, 4.899}};
  for (const auto& [heads, billions] : table) {
    const int64_t d = 1024, d_ff = 1024 * heads, layers = 6;
    const Planned planned =
        plan_file("specs/lm_paper_5b.yaml",
                  {"train.optimizer={adamw: {}}", fmt::format("dims.heads={}", heads),
                   fmt::format("dims.d_ff={}", d_ff), "mesh={rows: 32, cols: 4}"});
    INFO(heads << " heads: " << planned.messages);
    REQUIRE(planned.plan);
    const int64_t products = layers * (2 * d * d_ff + 4 * d * heads * 256) + 2 * 32768 * d;
    const int64_t norms = (2 * layers + 1) * 2 * d;
    CHECK(parameters(*planned.plan) == products + norms);
    CHECK(static_cast<double>(products) / 1e9 == Approx(billions).margin(0.0005));
    // On 32 rows the batch's 8 blocks do not do for the gradients of scales and shifts, nor the
    // loss.
    const Program& accumulate = planned.plan->programs[1].program;
    CHECK(accumulate.sums - accumulate.exact_sums == 2 * (2 * layers + 1) + 2);
  }
}

// ---- GPT-3 -------------------------------------------------------------------------------------

const std::vector<std::string> gpt3_now = {"mesh.stage=1", "storage=null", "schedule=null",
                                           "budget=null"};

int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::stoll(line.substr(6));
  return 0;
}

TEST_CASE("GPT-3 is planned in seconds and in little memory, and has 175 billion parameters") {
  const std::clock_t start = std::clock();
  const Planned planned = plan_file("specs/gpt3_175b.yaml", gpt3_now);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  INFO(planned.messages);
  REQUIRE(planned.plan);
  CHECK(seconds < 4);  // of this thread: 1 s on an idle machine
  CHECK(resident_kib() < (int64_t{1} << 20));
  const int64_t d = 12288, layers = 96, vocab = 51200, length = 2048;
  // Per layer 12 d^2 weights, biases of the products (9 d), scales and shifts of two norms (4 d).
  CHECK(parameters(*planned.plan) == layers * (12 * d * d + 13 * d) + (vocab + length) * d + 2 * d);
  // f32 masters, gradients (one block of the batch on each of 8 devices) and 8 bytes of Adam's
  // state. The axis divides everything but norms and the biases of what is added to the residual.
  const int64_t whole = layers * (4 * d + 2 * d) + 2 * d;
  const int64_t on_device = (parameters(*planned.plan) - whole) / 8 + whole;
  CHECK(planned.plan->resident.bytes_of(Storage::parameter) == 4 * on_device);
  CHECK(planned.plan->resident.bytes_of(Storage::gradient) == 4 * on_device);
  CHECK(planned.plan->resident.bytes_of(Storage::state) == 8 * on_device);
}

// Bytes over an axis by kind of collective, in one run of the forward of `accumulate`.
std::map<std::string, int64_t> forward_bytes(const Plan& plan, const std::string& axis) {
  std::map<std::string, int64_t> bytes;
  const PlannedProgram& p = *plan.find("accumulate");
  for (size_t i = 0; i < p.program.code.size(); ++i) {
    const Instruction& instruction = p.program.code[i];
    const AxisList axes = axes_of(instruction.action);
    const bool layer = instruction.origin.scope.starts_with("layers[");
    if (!layer || instruction.phase != Phase::forward || axes.size() != 1 ||
        plan.mesh.axes[static_cast<size_t>(axes[0].index)].name != axis)
      continue;
    const std::string text = print(p.program, instruction);
    const size_t kind = text.find('=') + 2;
    bytes[text.substr(kind, text.find(' ', kind) - kind)] += p.traffic[i].bytes;
  }
  return bytes;
}

TEST_CASE("splitting the sequence leaves the bytes of tensor parallelism's forward as they are") {
  const std::vector<std::string> f32 = {"numerics={compute: f32}", "dims.layers=4",
                                        "mesh={model: 8}"};
  std::vector<std::string> tensor = f32, sequence = f32;
  tensor.push_back("layout={heads: model, d_ff: model, vocab: model}");
  sequence.push_back("layout={heads: model, d_ff: model, vocab: model, length: 'model?'}");
  for (std::vector<std::string>* sets : {&tensor, &sequence})
    sets->insert(sets->end(), gpt3_now.begin() + 1, gpt3_now.end());
  tensor.push_back("train.microbatches=512");
  sequence.push_back("train.microbatches=512");
  const Planned plain = plan_file("specs/gpt3_175b.yaml", tensor);
  const Planned split = plan_file("specs/gpt3_175b.yaml", sequence);
  INFO(plain.messages << split.messages);
  REQUIRE(plain.plan);
  REQUIRE(split.plan);
  // An all-reduce after attention and after the feed-forward, of batch 3 * length * d_model.
  const int64_t n = int64_t{3} * 2048 * 12288 * 4;
  const auto reduced = forward_bytes(*plain.plan, "model"),
             scattered = forward_bytes(*split.plan, "model");
  CHECK(reduced == std::map<std::string, int64_t>{{"all_reduce", 4 * 2 * (2 * n * 7 / 8)}});
  CHECK(scattered == std::map<std::string, int64_t>{{"all_gather", 4 * 2 * (n * 7 / 8)},
                                                    {"reduce_scatter", 4 * 2 * (n * 7 / 8)}});
}

}  // namespace
}  // namespace mtf
