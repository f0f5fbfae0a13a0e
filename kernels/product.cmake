mtf_kernel_library(mtf_kernel_product
  PLAIN product.cpp product_blocks.cpp product_epilogue.cpp contraction.cpp
  PER_ISA product_isa.cpp
  LINK mtf_isa mtf_kernel_elementwise)
