// Lookups that the movement kernels share.
#include "movement.h"

#include <cstdio>
#include <cstdlib>

namespace mtf {

void misused(const KernelCall& call, const char* why) {
  std::fprintf(stderr, "mtf: internal error: bad call of kernel %s: %s\n",
               std::string(call.kernel).c_str(), why);
  std::abort();
}

DimId dim_attr(const KernelCall& call, std::string_view key) {
  const DimId* dim = call.attrs.get<DimId>(key);
  require(dim != nullptr, call, "a dim attribute is missing");
  return *dim;
}

std::vector<DimId> dims_attr(const KernelCall& call, std::string_view key) {
  const std::vector<DimId>* dims = call.attrs.get<std::vector<DimId>>(key);
  require(dims != nullptr, call, "an attribute that lists dims is missing");
  return *dims;
}

Side side_of(const View& view, DimId dim) {
  int64_t stride = 1;
  for (size_t i = view.dims.size(); i-- > 0;) {
    if (view.dims[i] == dim)
      return {view.size[i], view.origin[i], view.whole[i], stride};
    stride *= view.size[i];
  }
  return {};
}

bool has(const View& view, DimId dim) {
  return std::find(view.dims.begin(), view.dims.end(), dim) != view.dims.end();
}

}  // namespace mtf
