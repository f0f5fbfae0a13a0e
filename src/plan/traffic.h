// From an instruction to the bytes and messages that its algorithm sends. The algorithms are those
// of runtime/collectives.cpp; the formulas are docs/COST_MODEL.md.
#pragma once

#include "plan/program.h"

namespace mtf {

// The one rule for the algorithm of a sum of `bytes` on each of p ranks: gather if p is no power of
// two, doubling below 32 KiB, halving from there on.
Algorithm choose_algorithm(int64_t bytes, int p);

// How halving cuts a buffer into p chunks: ceil(elements / p) each, the last nonempty one shorter,
// those after it empty.
struct Chunks {
  Chunks(int64_t elements, int p) : elements_(elements), each_((elements + p - 1) / p) {}

  int64_t size(int chunk) const;  // in elements
  int64_t start(int chunk) const;
  // Elements of all chunks whose index leaves this residue.
  int64_t congruent(int residue, int modulus) const;

 private:
  int64_t elements_, each_;
};

}  // namespace mtf
