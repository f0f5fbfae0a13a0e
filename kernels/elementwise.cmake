mtf_kernel_library(mtf_kernel_elementwise
  PLAIN elementwise.cpp elementwise_body.cpp map.cpp reduce.cpp tree_sum.cpp
  PER_ISA elementwise_isa.cpp reduce_isa.cpp
  LINK mtf_isa sleef)
foreach(isa ${isas})
  # Integers wrap; sqrt is the instruction; a tile's bytes hold one type after another. GCC 12 warns
  # of undefined operands in its own AVX-512 header.
  target_compile_options(mtf_kernel_elementwise_${isa} PRIVATE -fwrapv -fno-math-errno
    -fno-strict-aliasing -Wno-maybe-uninitialized)
endforeach()
