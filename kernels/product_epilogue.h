// Applies the elementwise body of a product to a block of sums and stores the results: bias,
// activation, residual and casts, by the same loops as map.
#pragma once

#include "contraction.h"
#include "elementwise.h"

namespace mtf {

class ProductEpilogue {
 public:
  static constexpr int max_operands = 32;

  ProductEpilogue(const KernelCall&, const Contraction&, Isa);

  // False if the sums are the result as they are.
  static bool needed(const KernelCall&);

  int64_t bytes() const { return body_.bytes(); }  // of scratch

  // Stores rows [row, row + rows) x columns [column, column + columns) of one batch index, whose
  // sums, f32 or f64, are at sums[i * stride + j].
  struct Part {
    int64_t batch, row, rows, column, columns;
  };
  void run(const KernelRun&, const Part&, const void* sums, int64_t stride,
           std::byte* scratch) const;

 private:
  // Positions [at, at + count) in the order of the contraction's dims, batch outermost.
  void store(const KernelRun&, int64_t at, int64_t count, const std::byte* sums,
             std::byte* scratch) const;
  void* target(const KernelRun&, size_t result, int64_t at, int64_t count) const;

  const Loops& loops_;
  std::vector<View> registers_;  // the inputs, then the sums
  std::vector<DType> types_;     // of results
  int64_t rows_, columns_;       // of the contraction
  Nest nest_;                    // operands: registers, then results
  TileBody body_;
};

}  // namespace mtf
