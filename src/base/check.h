// CHECK is for our own bugs only: no user input can make one fail. It prints and aborts.
#pragma once

#include <string>

namespace mtf {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace mtf

#define CHECK(condition, ...)   \
  (static_cast<bool>(condition) \
       ? void(0)                \
       : ::mtf::check_failed(__FILE__, __LINE__, #condition, std::string{__VA_ARGS__}))
