mtf_add_test(test_movement LABEL unit
  SOURCES movement_index.cpp
  LINK mtf_kernel_movement Threads::Threads)
