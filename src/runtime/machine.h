// What `mtf doctor` looks at: this machine, the libraries in use, and proofs on this machine's
// processor of what the laws rest on.
#pragma once

#include <string>
#include <vector>

#include "kernel.h"

namespace mtf {

struct Fact {
  std::string what, value;
};

// Processor, memory, disk of the working directory, shared memory, compiler, CUDA driver.
std::vector<Fact> machine_facts();

// The number libraries that this executable computes with, and those it could but does not use.
std::vector<Fact> library_versions();

struct Proof {
  std::string what;
  bool holds = false;
  std::string detail;  // what was compared, or the first difference
};

// On every instruction set that this processor has, for f32, f64 and bf16: a product of random
// matrices computed whole and in pieces of its rows and columns (as tensor and data parallel ranks
// do), with one thread and with two, gives the same bits; elementwise functions give the same bits
// wherever an element stands in its array; and all instruction sets agree. Partial sums of pieces
// of the summed dim, combined in the canonical order, equal the whole sum (docs/NUMERICS.md).
std::vector<Proof> prove_laws();

}  // namespace mtf
