// Every row of the table of op cases, forward and gradients, run by the kernels: close to the plain
// loops of the interpreter, and the same bits with any dim, or any two, split over ranks.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <cstring>
#include <mutex>

#include "ops/built_case.h"
#include "plan/lower.h"
#include "plan/plan.h"
#include "runtime/session.h"
#include "runtime/thread_communicator.h"
#include "runtime/thread_pool.h"

namespace mtf {
namespace {

using testing::Built;
using testing::Case;
using testing::Tensor;
using Tensors = std::map<std::string, Tensor>;

// Calls f(local index, global index) for every element of a shard, both row-major.
template <class F>
void each_element(const Graph& g, const View& v, F f) {
  size_t elements = 1;
  for (int64_t n : v.size)
    elements *= static_cast<size_t>(n);
  for (size_t i = 0; i < elements; ++i) {
    size_t rest = i, at = 0, stride = 1;
    for (size_t d = v.size.size(); d-- > 0;) {
      at += (static_cast<size_t>(v.origin[d]) + rest % static_cast<size_t>(v.size[d])) * stride;
      rest /= static_cast<size_t>(v.size[d]);
      stride *= static_cast<size_t>(g[v.dims[d]].size);
    }
    f(i, at);
  }
}

template <class T>
void put(std::byte* to, size_t i, double value) {
  const auto typed = static_cast<T>(value);
  std::memcpy(to + i * sizeof(T), &typed, sizeof(T));
}

template <class T>
double get(const std::byte* from, size_t i) {
  T typed;
  std::memcpy(&typed, from + i * sizeof(T), sizeof(T));
  return static_cast<double>(typed);
}

void write(DType type, std::byte* to, size_t i, double value) {
  switch (type) {
    case DType::f64:
      return put<double>(to, i, value);
    case DType::f32:
      return put<float>(to, i, value);
    case DType::i32:
      return put<int32_t>(to, i, value);
    default:
      return put<uint8_t>(to, i, value);
  }
}

double read(DType type, const std::byte* from, size_t i) {
  switch (type) {
    case DType::f64:
      return get<double>(from, i);
    case DType::f32:
      return get<float>(from, i);
    case DType::i32:
      return get<int32_t>(from, i);
    default:
      return get<uint8_t>(from, i);
  }
}

// The outputs of the program, whole, in the order of dims in which they lie.
Tensors run(const Plan& plan, const Built& built) {
  Tensors out;
  std::mutex mutex;
  run_ranks(plan.mesh.ranks(), [&](Communicator& c) {
    ThreadPool pool(1);
    CpuBackend backend(pool.team(), best_isa());
    Session session(plan, backend, c);
    Executor& e = session["case"];
    const Program& p = e.program();
    for (const Program::Binding& b : p.inputs) {
      const std::string name = b.name.starts_with("parameter:") ? b.name.substr(10) : b.name;
      const View v = view_of(p, p[b.value], c.rank());
      const Tensor leaf = transposed(built.graph, built.leaves.at(name), v.dims);
      each_element(built.graph, v, [&](size_t local, size_t global) {
        write(v.dtype, e.bytes(b.value).data(), local, leaf.data[global]);
      });
    }
    e.run();
    const std::lock_guard lock(mutex);
    for (const Program::Binding& b : p.outputs) {
      const View v = view_of(p, p[b.value], c.rank());
      Tensor& whole = out[b.name];
      whole.dims = v.dims;
      whole.data.resize(static_cast<size_t>(built.graph.elements({v.dims})));
      each_element(built.graph, v, [&](size_t local, size_t global) {
        whole.data[global] = read(v.dtype, e.bytes(b.value).data(), local);
      });
    }
  });
  return out;
}

class OpCase {
 public:
  explicit OpCase(const Case& c, const testing::Padding& padding = {}) {
    Graph sizes;
    testing::add_dims(sizes);
    for (const Dim& d : sizes.dims)  // so that splits in powers of two are exact
      for (int64_t n = 2; n <= 8 && d.size % n == 0; n *= 2)
        built_.numerics.blocks_of[d.name] = {n, {}};
    build(c, built_, padding);
    if (!is_built())
      return;
    Graph& g = built_.graph;
    for (Dim& d : g.dims)
      d.rule = d.block_of.index >= 0 ? g[d.block_of].name : d.name;
    g.outputs.push_back({"result", built_.result});
    for (size_t i = 0; i < built_.gradients.size(); ++i)
      g.outputs.push_back({fmt::format("gradient {}", i), built_.gradients[i]});
    for (const Node& n : g.nodes)
      random_ = random_ || n.op->random || n.op->kernel == "uniform" || n.op->kernel == "normal";
    one_ = *run_split({});
  }

  bool is_built() const { return built_.result.index >= 0; }  // not refused

  // Kernels round each node in its dtype; the interpreter does not.
  void check_values() const {
    if (random_)
      return;
    const std::vector<Tensor> expected = interpret(built_.graph, built_.leaves);
    for (const Named& output : built_.graph.outputs) {
      const Tensor want = transposed(built_.graph, expected[static_cast<size_t>(output.node.index)],
                                     one_.at(output.name).dims);
      const Tensor found = true_part(one_.at(output.name)), exact = true_part(want);
      REQUIRE(found.data.size() == exact.data.size());
      for (size_t i = 0; i < found.data.size(); ++i) {
        INFO(output.name << " element " << i);
        CHECK(found.data[i] == Approx(exact.data[i]).epsilon(1e-9).margin(1e-9));
      }
    }
  }

  // Splits every dim, then every two, and counts the layouts that were compared.
  int check_splits() {
    int compared = 0;
    std::vector<std::pair<std::string, int>> dims;
    for (const Dim& d : built_.graph.dims)
      if (d.block_of.index < 0 && d.size > 1)
        dims.emplace_back(d.name, d.size % 2 == 0 ? 2 : static_cast<int>(d.size));
    for (const auto& a : dims) {
      compared += check_split({a});
      for (const auto& b : dims)
        if (a.first != b.first)
          compared += check_split({a, b});
    }
    return compared;
  }

 private:
  Tensor true_part(const Tensor& x) const { return without_padding(built_.graph, x); }

  using Splits = std::vector<std::pair<std::string, int>>;

  std::optional<Tensors> run_split(const Splits& splits, bool* exact = nullptr) {
    Mesh mesh;
    LayoutRules rules;
    for (const auto& [dim, ways] : splits) {
      rules.rules.push_back(
          {dim, {{AxisId{static_cast<int8_t>(mesh.axes.size())}, false, {}}}, {}});
      mesh.axes.push_back({dim + "_axis", ways});
    }
    Diagnostics diagnostics;
    std::vector<Program> programs =
        partition_phases({{"case", built_.graph, 1}}, mesh, rules, built_.numerics, diagnostics);
    if (diagnostics.has_errors())
      return std::nullopt;
    const Plan plan = plan_programs(std::move(programs), {1});
    const Program& p = plan.programs[0].program;
    if (exact)
      *exact = p.exact_sums == p.sums;
    return run(plan, built_);
  }

  bool check_split(const Splits& splits) {
    std::string text;
    for (const auto& [dim, ways] : splits)
      text += fmt::format("{} in {} ", dim, ways);
    INFO(text);
    bool exact = false;
    const std::optional<Tensors> split = run_split(splits, &exact);
    if (!split)
      return false;
    for (const auto& [name, whole] : one_) {
      INFO(name);
      const Tensor want = true_part(whole);
      const Tensor found = true_part(transposed(built_.graph, split->at(name), whole.dims));
      if (exact)
        CHECK(std::memcmp(found.data.data(), want.data.data(), want.data.size() * sizeof(double)) ==
              0);
      else
        for (size_t i = 0; i < want.data.size(); ++i)
          CHECK(found.data[i] == Approx(want.data[i]).epsilon(1e-9).margin(1e-9));
    }
    return true;
  }

  Built built_;
  bool random_ = false;
  Tensors one_;
};

TEST_CASE("kernels say what the interpreter says, for every op and its gradient") {
  for (const Case& c : testing::cases()) {
    INFO(c.name);
    OpCase(c).check_values();
  }
}

TEST_CASE("so they do with all dims padded by garbage, split and whole") {
  int compared = 0;
  for (const Case& c : testing::cases()) {
    INFO(c.name);
    OpCase padded(c, {testing::all_dims, 1e9});
    if (!padded.is_built() || c.op == "write_slice")
      continue;
    padded.check_values();
    compared += padded.check_splits();
  }
  CHECK(compared > 1000);
}

TEST_CASE("every op gives the same bits with every dim and every two dims split") {
  int compared = 0;
  for (const Case& c : testing::cases()) {
    INFO(c.name);
    compared += OpCase(c).check_splits();
  }
  CHECK(compared > 1000);
}

}  // namespace
}  // namespace mtf
