// The families behind the kernel table; each prepares the kernels it names in its header comment.
#pragma once

#include "kernel.h"

namespace mtf {

Kernel prepare_product(const KernelCall&, Isa);

Kernel prepare_map(const KernelCall&, Isa);
Kernel prepare_reduce(const KernelCall&, Isa);
Kernel prepare_tree_sum(const KernelCall&, Isa);

Kernel prepare_tiled(const KernelCall&, Isa);  // of the kernels above

Kernel prepare_gather(const KernelCall&);
Kernel prepare_scatter_add(const KernelCall&);
Kernel prepare_arg_reduce(const KernelCall&);  // argmax, argmin
Kernel prepare_top_k(const KernelCall&);
Kernel prepare_sort(const KernelCall&);
Kernel prepare_cumsum(const KernelCall&);
Kernel prepare_copy(const KernelCall&);  // reshape and copies into another order of dims
Kernel prepare_slice(const KernelCall&);
Kernel prepare_pad(const KernelCall&);
Kernel prepare_concat(const KernelCall&);
Kernel prepare_shift(const KernelCall&);
Kernel prepare_write_slice(const KernelCall&);
Kernel prepare_iota(const KernelCall&);
Kernel prepare_uniform(const KernelCall&);
Kernel prepare_normal(const KernelCall&);  // truncated or not, by inverse CDF

}  // namespace mtf
