// The one header that kernels share with src/: dtypes, named dims, attributes, and what a kernel is
// given. A kernel is prepared once from a KernelCall (everything known at plan time) and then run
// many times on addresses. Kernels never allocate while running and know nothing of mesh axes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mtf {

enum class DType : uint8_t { f32, f64, bf16, i32, u8, boolean };

constexpr int64_t size_of(DType t) {
  switch (t) {
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
    case DType::bf16:
      return 2;
    case DType::i32:
      return 4;
    case DType::u8:
      return 1;
    case DType::boolean:
      return 1;
  }
  return 0;
}

// A named tensor dimension, as an index into the table of dims of a Graph or Program.
struct DimId {
  int32_t index = -1;
  auto operator<=>(const DimId&) const = default;
};

using DimPairs = std::vector<std::pair<DimId, DimId>>;
using Attr = std::variant<bool, int64_t, double, std::string, DType, DimId, std::vector<DimId>,
                          DimPairs, std::vector<double>>;

// Attributes of a node or kernel, few and looked up by name. Keys are string literals.
struct Attrs {
  std::vector<std::pair<std::string_view, Attr>> items;

  const Attr* find(std::string_view key) const {
    for (const auto& [k, v] : items)
      if (k == key)
        return &v;
    return nullptr;
  }
  template <class T>
  const T* get(std::string_view key) const {
    const Attr* a = find(key);
    return a ? std::get_if<T>(a) : nullptr;
  }
  template <class T>
  T get_or(std::string_view key, T otherwise) const {
    const T* v = get<T>(key);
    return v ? *v : otherwise;
  }
  // Not inlined: g++ 12 would warn that the variant may be uninitialised, which it is not.
  [[gnu::noinline]] void set(std::string_view key, Attr value) {
    for (auto& [k, v] : items)
      if (k == key) {
        v = std::move(value);
        return;
      }
    items.emplace_back(key, std::move(value));
  }
};

// One operand or result of a kernel: the shard that lies on this device, row-major in the order of
// `dims` (storage order; a dim's meaning is its id, never its position). Dense but for the operands
// of a part of a tiled call, which are pieces of larger arrays.
struct View {
  DType dtype = DType::f32;
  std::vector<DimId> dims;
  std::vector<int64_t> size;    // local size of each dim
  std::vector<int64_t> origin;  // global index of the first local element, by dim
  std::vector<int64_t> whole;   // logical (unsplit) size without padding, by dim
  std::vector<int64_t> stride;  // elements from one index to the next, by dim; empty: dense
};

// One summed dim of a kernel, in the order of summation (first = outermost = major).
// The local extent of `dim` is cut into `blocks` equal blocks (block b is [b*size/blocks,
// (b+1)*size/blocks)). If `kept` names a dim, the result has that dim, of local size `blocks`, one
// entry a block; otherwise the blocks are folded in the kernel by the binary tree over the block
// index, padded with -0.0 to a power of two. Inner dims are folded before outer ones, so kept ones
// come first. (docs/NUMERICS.md.)
struct Reduced {
  DimId dim;
  int64_t blocks = 1;
  DimId kept;  // index -1: folded here
};

// One product of a contraction: inputs[a] times inputs[b], summed over `reduced`.
// Several terms of one call have equal result dims and the same number of outermost blocks; block i
// of the result is term0[i] + term1[i] + ... in order, each folded to its outermost block dim
// first.
struct Term {
  int a = 0, b = 1;
  std::vector<Reduced> reduced;
};

// A scalar formula of an elementwise op; scalar_ops.h gives each one's meaning once.
enum class Scalar : uint8_t {
#define MTF_SCALAR(name, arity) name,
#include "scalar_ops.def"
#undef MTF_SCALAR
};

// One step of a fused elementwise body. Registers 0..inputs-1 hold the operands (broadcast by dim
// name), step i writes register inputs+i. `type` is the dtype of the result; arithmetic is done in
// f32 (f64 if type or operand is f64, i32 if all are integers) and rounded to `type`.
struct BodyStep {
  Scalar op;
  DType type;
  int a = -1, b = -1, c = -1;
  double immediate = 0;
};

struct Body {
  std::vector<BodyStep> steps;
  std::vector<int> results;  // register of each result (map) or of the one value reduced (reduce)
};

// How much of a dim a tile of a tiled call has; divides the dim's local size.
struct TileDim {
  DimId dim;
  int64_t size;
};
struct TiledPart;

// Everything known of a kernel before its first run. `kernel` names a row of the kernel table:
// "product", "map", "reduce", ...; cpu_table.cpp lists them with the fields each one reads.
struct KernelCall {
  std::string_view kernel;
  Attrs attrs;
  std::vector<View> inputs, results;
  std::vector<Term> terms;       // product, scatter_add
  std::vector<Reduced> reduced;  // reduce, tree_sum
  Body body;                     // map; prologue of reduce; epilogue of product

  // tiled: the parts run one after the other on a tile, then on the next. Inner values exist for
  // one tile only, at inner_at in a thread's workspace; all results have all dims of `tile`.
  std::vector<TileDim> tile;
  std::vector<View> inner;
  std::vector<int64_t> inner_at;
  int64_t workspace_bytes = 0;
  std::vector<TiledPart> parts;
};

// A kernel within a tiled call (product, map or reduce), without its views. Its operands are
// numbers of values of that call: inputs, then results, then inner ones.
struct TiledPart {
  KernelCall call;
  std::vector<int> inputs, results;
};

// A task of a parallel loop, by reference: a call of run() allocates nothing for it.
class TaskRef {
 public:
  template <class F>
  requires(!std::is_same_v<F, TaskRef>)
      TaskRef(const F& f)  // NOLINT(google-explicit-constructor): lambdas are passed as they are
      : object_(&f), call_([](const void* object, int64_t task, int thread) {
          (*static_cast<const F*>(object))(task, thread);
        }) {}
  void operator()(int64_t task, int thread) const { call_(object_, task, thread); }

 private:
  const void* object_;
  void (*call_)(const void*, int64_t, int);
};

// The threads of one rank. run(n, f) calls f(task, thread) for every task in [0, n), each exactly
// once, and returns when all are done; which thread gets which task never changes a result.
struct Team {
  int size = 1;
  std::function<void(int64_t tasks, TaskRef f)> run;
};

// Scratch that every thread of a rank may use within one kernel run; part of the memory plan.
inline constexpr int64_t scratch_bytes_per_thread = int64_t{4} << 20;

struct KernelRun {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> results;
  // 64-byte aligned: team.size * scratch_bytes_per_thread, then team.size * call.workspace_bytes.
  std::span<std::byte> scratch;
  Team& team;
};

using Kernel = std::function<void(const KernelRun&)>;

// Instruction sets, each with the same bits in f32 and f64. `best` is what CPUID offers, or what
// the environment variable MTF_ISA (portable, avx2, avx512) asks for where it is available.
enum class Isa : uint8_t { portable, avx2, avx512 };
Isa best_isa();
bool isa_available(Isa);
std::string_view name_of(Isa);

// Looks the kernel up in the CPU table and prepares it. Aborts on a call the table does not know:
// the planner emits only calls from the table.
Kernel prepare_cpu(const KernelCall&, Isa);

// The most f32 FLOP/s that the team's cores can do: fused multiply-adds in registers, measured for
// some 30 ms. By CPU time, so that other processes on the machine count little.
double peak_flops(Isa, Team&);

}  // namespace mtf
