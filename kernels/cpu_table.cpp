// The CPU kernel table: one row per kernel name.
#include <cstdio>
#include <cstdlib>

#include "table.h"

namespace mtf {
namespace {

struct Row {
  std::string_view name;
  Kernel (*prepare)(const KernelCall&, Isa);
};

template <Kernel (*prepare)(const KernelCall&)>
Kernel any_isa(const KernelCall& call, Isa) {
  return prepare(call);
}

constexpr Row rows[] = {
    {"product", prepare_product},
    {"map", prepare_map},
    {"reduce", prepare_reduce},
    {"tree_sum", prepare_tree_sum},
    {"tiled", prepare_tiled},
    {"gather", any_isa<prepare_gather>},
    {"scatter_add", any_isa<prepare_scatter_add>},
    {"argmax", any_isa<prepare_arg_reduce>},
    {"argmin", any_isa<prepare_arg_reduce>},
    {"top_k", any_isa<prepare_top_k>},
    {"sort", any_isa<prepare_sort>},
    {"cumsum", any_isa<prepare_cumsum>},
    {"copy", any_isa<prepare_copy>},
    {"slice", any_isa<prepare_slice>},
    {"pad", any_isa<prepare_pad>},
    {"concat", any_isa<prepare_concat>},
    {"shift", any_isa<prepare_shift>},
    {"write_slice", any_isa<prepare_write_slice>},
    {"iota", any_isa<prepare_iota>},
    {"uniform", any_isa<prepare_uniform>},
    {"normal", any_isa<prepare_normal>},
};

}  // namespace

Kernel prepare_cpu(const KernelCall& call, Isa isa) {
  for (const Row& row : rows)
    if (row.name == call.kernel)
      return row.prepare(call, isa);
  std::fprintf(stderr, "mtf: internal error: no CPU kernel named %s\n",
               std::string(call.kernel).c_str());
  std::abort();
}

}  // namespace mtf
