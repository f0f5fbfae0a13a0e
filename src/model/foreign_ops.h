// What PyTorch, JAX, TensorFlow and ONNX call the ops and blocks of this language.
#pragma once

#include <string_view>

namespace mtf {

// "multiply" for "mul"; "" if no such tool has an op of this name, or another one is meant by it.
std::string_view op_meant_by(std::string_view foreign);

}  // namespace mtf
