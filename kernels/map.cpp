// map: an elementwise body over operands broadcast by dim name; one or several results, which all
// have the same dims, in any orders. A result may overwrite an input of its own layout.
#include <algorithm>
#include <memory>

#include "elementwise.h"
#include "table.h"

namespace mtf {
namespace {

constexpr int64_t task_elements = 16 << 10;
constexpr int max_results = 16;
constexpr int64_t block = 16;  // side of the squares in which transposed operands are walked

Nest nest_of(const KernelCall& call) {
  Nest nest;
  const View& first = call.results[0];
  for (size_t i = 0; i < first.dims.size(); ++i) {
    std::vector<int64_t> strides;
    for (const auto* views : {&call.inputs, &call.results})
      for (const View& v : *views)
        strides.push_back(stride_of(v, first.dims[i]));
    nest.add(first.size[i], strides);
  }
  nest.base.assign(call.inputs.size() + call.results.size(), 0);
  nest.collapse();
  return nest;
}

// The loop along which some operand is dense that is not dense (nor fixed) in the innermost; or -1.
int crossing_loop(const Nest& nest) {
  const size_t inner = nest.size.size() - 1;
  for (const auto& stride : nest.stride)
    for (size_t loop = 0; loop < inner && stride[inner] > 1; ++loop)
      if (stride[loop] == 1 && nest.size[loop] >= block && nest.size[inner] >= block)
        return static_cast<int>(loop);
  return -1;
}

// The part [begin, begin + extent) of one loop.
Nest part_of(Nest nest, size_t loop, int64_t begin, int64_t extent) {
  nest.size[loop] = extent;
  for (size_t o = 0; o < nest.stride.size(); ++o)
    nest.base[o] += begin * nest.stride[o][loop];
  return nest;
}

// Cuts loop `outer` and the innermost one into squares, so that every operand is used by whole
// cache lines: up to four nests, as the sizes need not be multiples of a square's side.
std::vector<Nest> in_squares(const Nest& nest, size_t outer) {
  std::vector<Nest> parts = {nest};
  const size_t inner = nest.size.size() - 1;
  for (size_t loop : {outer, inner}) {
    std::vector<Nest> cut;
    for (const Nest& part : parts) {
      const int64_t whole = part.size[loop] / block * block, rest = part.size[loop] - whole;
      cut.push_back(part_of(part, loop, 0, whole));
      if (rest > 0)
        cut.push_back(part_of(part, loop, whole, rest));
    }
    parts = std::move(cut);
  }
  for (Nest& part : parts) {
    Nest tiled;
    std::vector<std::vector<int64_t>> steps(part.size.size(),
                                            std::vector<int64_t>(part.stride.size()));
    for (size_t loop = 0; loop <= inner; ++loop)
      for (size_t o = 0; o < part.stride.size(); ++o)
        steps[loop][o] = part.stride[o][loop];
    auto times = [](std::vector<int64_t> v, int64_t k) {
      for (int64_t& s : v)
        s *= k;
      return v;
    };
    auto side = [&](size_t loop) { return std::min(block, part.size[loop]); };
    for (size_t loop = 0; loop <= inner; ++loop) {
      const int64_t cut = loop == outer || loop == inner ? side(loop) : 1;
      tiled.add(part.size[loop] / cut, times(steps[loop], cut));
    }
    tiled.add(side(outer), steps[outer]);
    tiled.add(side(inner), steps[inner]);
    tiled.base = part.base;
    tiled.collapse();
    part = std::move(tiled);
  }
  return parts;
}

struct Map {
  const Loops& loops;
  TileBody body;
  std::vector<Nest> nests;
  std::vector<DType> types;  // of results
  int inputs;

  // Positions [begin, end) of a nest.
  void run(const KernelRun& run, const Nest& nest, int64_t begin, int64_t end,
           std::byte* scratch) const {
    body.begin(scratch, nest, run.inputs);
    for (int64_t at = begin; at < end;) {
      const int64_t n = body.stretch(nest, at, end - at);
      void* targets[max_results];
      for (int r = 0; r < static_cast<int>(types.size()); ++r)
        targets[r] = target(run, nest, r, at, n);
      body.run(scratch, nest, run.inputs, at, n, targets);
      for (int r = 0; r < static_cast<int>(types.size()); ++r)
        if (const void* value = body.value(scratch, r); value != targets[r])
          store(run, nest, r, at, n, value);
      at += n;
    }
  }

  // Where the positions lie if they are one run of the result's memory, as the loops hold it.
  void* target(const KernelRun& run, const Nest& nest, int r, int64_t at, int64_t n) const {
    const DType type = types[static_cast<size_t>(r)];
    if (!held_as_stored(type) || nest.step(inputs + r) != 1 || n > nest.left_in_run(inputs + r, at))
      return nullptr;
    return run.results[static_cast<size_t>(r)] + nest.offset(inputs + r, at) * size_of(type);
  }

  void store(const KernelRun& run, const Nest& nest, int r, int64_t at, int64_t n,
             const void* value) const {
    const DType type = types[static_cast<size_t>(r)];
    const int64_t stride = nest.step(inputs + r);
    nest.for_runs(inputs + r, at, n, [&](int64_t offset, int64_t start, int64_t m) {
      loops.store[static_cast<int>(type)](
          run.results[static_cast<size_t>(r)] + offset * size_of(type), stride,
          static_cast<const std::byte*>(value) + start * size_of(class_of(type)), m);
    });
  }
};

}  // namespace

Kernel prepare_map(const KernelCall& call, Isa isa) {
  std::vector<TileBody::Wanted> wanted;
  std::vector<DType> types;
  for (size_t r = 0; r < call.results.size(); ++r) {
    wanted.push_back({call.body.results[r], call.results[r].dtype});
    types.push_back(call.results[r].dtype);
  }
  Nest nest = nest_of(call);
  const int outer = crossing_loop(nest);
  auto map = std::make_shared<const Map>(
      Map{loops_of(isa), TileBody(call.inputs, call.body.steps, wanted, isa),
          outer < 0 ? std::vector<Nest>{nest} : in_squares(nest, static_cast<size_t>(outer)), types,
          static_cast<int>(call.inputs.size())});
  if (call.results.size() > max_results || map->body.bytes() > scratch_bytes_per_thread)
    kernel_bug("a map of too many results or steps");
  return [map](const KernelRun& run) {
    for (const Nest& part : map->nests) {
      const int64_t n = part.elements(), tasks = (n + task_elements - 1) / task_elements;
      run.team.run(tasks, [&](int64_t task, int thread) {
        map->run(run, part, task * task_elements, std::min(n, (task + 1) * task_elements),
                 run.scratch.data() + thread * scratch_bytes_per_thread);
      });
    }
  };
}

}  // namespace mtf
