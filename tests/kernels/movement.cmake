mtf_add_test(test_movement LABEL unit
  SOURCES movement_index.cpp movement_order.cpp movement_shape.cpp movement_random.cpp
  LINK mtf_kernel_movement Threads::Threads)
