mtf_add_test(test_product LABEL unit SOURCES product_test.cpp LINK mtf_kernel_product)
add_executable(bench_product product_bench.cpp)
target_link_libraries(bench_product PRIVATE mtf_kernel_product mtf_kernel_peak Threads::Threads)
