mtf_kernel_library(mtf_kernel_peak PLAIN peak.cpp PER_ISA peak_isa.cpp LINK mtf_isa)
