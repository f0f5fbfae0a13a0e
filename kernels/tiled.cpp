// tiled: a chain of kernels run tile by tile, so that what they hand each other stays in a near
// cache and never exists as a whole. Each tile is one task; its kernels run on that task's thread.
#include <array>
#include <memory>

#include "elementwise.h"
#include "table.h"

namespace mtf {
namespace {

constexpr size_t most_values = 64;

// The tile of a view: its dims of `tile` are that short, and the strides stay those of the array.
View piece_of(View view, const std::vector<TileDim>& tile, bool dense) {
  for (DimId d : view.dims)
    view.stride.push_back(stride_of(View{view.dtype, view.dims, view.size, {}, {}, {}}, d));
  if (dense)
    view.stride.clear();
  for (size_t i = 0; i < view.dims.size(); ++i)
    for (const TileDim& t : tile)
      if (t.dim == view.dims[i])
        view.size[i] = t.size;
  return view;
}

int64_t size_in(const View& view, DimId dim) {
  for (size_t i = 0; i < view.dims.size(); ++i)
    if (view.dims[i] == dim)
      return view.size[i];
  kernel_bug("a result of a tiled call lacks a dim of the tile");
}

class Tiled {
 public:
  Tiled(const KernelCall& call, Isa isa)
      : inputs_(call.inputs.size()),
        outer_(inputs_ + call.results.size()),
        inner_at_(call.inner_at),
        workspace_bytes_(call.workspace_bytes) {
    std::vector<View> values;
    for (const auto* views : {&call.inputs, &call.results, &call.inner})
      values.insert(values.end(), views->begin(), views->end());
    if (values.size() > most_values || call.results.empty())
      kernel_bug("a tiled call of no results or too many values");
    for (const TileDim& t : call.tile) {
      Loop loop{size_in(call.results[0], t.dim) / t.size, {}};
      for (size_t v = 0; v < outer_; ++v)
        loop.step.push_back(stride_of(values[v], t.dim) * t.size * size_of(values[v].dtype));
      tiles_ *= loop.count;
      loops_.push_back(std::move(loop));
    }
    for (size_t v = 0; v < values.size(); ++v)
      values[v] = piece_of(values[v], call.tile, v >= outer_);
    for (const TiledPart& part : call.parts)
      parts_.push_back(prepared(part, values, isa));
    alone_.run = [](int64_t tasks, TaskRef f) {
      for (int64_t task = 0; task < tasks; ++task)
        f(task, 0);
    };
  }
  Tiled(const Tiled&) = delete;

  void run(const KernelRun& r) {
    r.team.run(tiles_, [&](int64_t tile, int thread) { run_tile(r, tile, thread); });
  }

 private:
  struct Loop {
    int64_t count;
    std::vector<int64_t> step;  // bytes, by outer value
  };
  struct Prepared {
    Kernel kernel;
    std::vector<int> inputs, results;
  };

  static Prepared prepared(const TiledPart& part, const std::vector<View>& values, Isa isa) {
    KernelCall call = part.call;
    for (int v : part.inputs)
      call.inputs.push_back(values[static_cast<size_t>(v)]);
    for (int v : part.results)
      call.results.push_back(values[static_cast<size_t>(v)]);
    return {prepare_cpu(call, isa), part.inputs, part.results};
  }

  void run_tile(const KernelRun& r, int64_t tile, int thread) {
    std::array<int64_t, most_values> offset{};
    for (size_t l = loops_.size(); l-- > 0; tile /= loops_[l].count)
      for (size_t v = 0; v < outer_; ++v)
        offset[v] += tile % loops_[l].count * loops_[l].step[v];
    const std::span<std::byte> scratch = r.scratch.subspan(
        static_cast<size_t>(thread * scratch_bytes_per_thread), scratch_bytes_per_thread);
    std::byte* workspace =
        r.scratch.data() + r.team.size * scratch_bytes_per_thread + thread * workspace_bytes_;
    std::array<std::byte*, most_values> made{};  // by value; inputs are not made
    for (size_t v = inputs_; v < outer_; ++v)
      made[v] = r.results[v - inputs_] + offset[v];
    for (size_t i = 0; i < inner_at_.size(); ++i)
      made[outer_ + i] = workspace + inner_at_[i];
    for (const Prepared& part : parts_) {
      std::array<const std::byte*, most_values> in;
      std::array<std::byte*, most_values> out;
      for (size_t i = 0; i < part.inputs.size(); ++i) {
        const auto v = static_cast<size_t>(part.inputs[i]);
        in[i] = v < inputs_ ? r.inputs[v] + offset[v] : made[v];
      }
      for (size_t i = 0; i < part.results.size(); ++i)
        out[i] = made[static_cast<size_t>(part.results[i])];
      part.kernel(
          {{in.data(), part.inputs.size()}, {out.data(), part.results.size()}, scratch, alone_});
    }
  }

  size_t inputs_, outer_;  // values before outer_ are inputs and results
  std::vector<Loop> loops_;
  std::vector<int64_t> inner_at_;
  int64_t workspace_bytes_, tiles_ = 1;
  std::vector<Prepared> parts_;
  Team alone_;
};

}  // namespace

Kernel prepare_tiled(const KernelCall& call, Isa isa) {
  auto tiled = std::make_shared<Tiled>(call, isa);
  return [tiled](const KernelRun& r) { tiled->run(r); };
}

}  // namespace mtf
