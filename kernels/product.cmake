mtf_kernel_library(mtf_kernel_product PLAIN product.cpp contraction.cpp PER_ISA product_isa.cpp
                   LINK mtf_isa)
