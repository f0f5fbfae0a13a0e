mtf_add_test(test_elementwise LABEL unit
  SOURCES elementwise.cpp elementwise_scalars.cpp LINK mtf_kernel_elementwise Threads::Threads)
