// The header of a .npy file: a Python dict literal with exactly the keys descr, fortran_order and
// shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mtf {

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Failure(Exit::bad_input) with the path `where` if the text is anything else.
NpyHeader parse_npy_header(std::string_view text, const std::string& where);

}  // namespace mtf
