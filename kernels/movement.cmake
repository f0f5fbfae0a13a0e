mtf_kernel_library(mtf_kernel_movement
  PLAIN movement.cpp strided.cpp gather.cpp scatter_add.cpp order.cpp shape.cpp random.cpp
        random_normal.cpp
  LINK mtf_isa sleef)
target_compile_options(mtf_kernel_movement PRIVATE -O3)
