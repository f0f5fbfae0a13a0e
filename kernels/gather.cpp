// gather: rows of x picked by ids along one dim. Each position of ids copies one row: the elements
// of x that share its other indices. Where x holds a part of that dim, an id outside it gives the
// absent term of a sum (-0.0, or 0 for integers): the sum over ranks is the lookup, exactly.
#include "strided.h"
#include "table.h"

namespace mtf {
namespace {

// -0.0 of a float type, 0 of the others.
std::array<std::byte, 8> absent_element(DType type) {
  std::array<std::byte, 8> bytes{};
  if (type == DType::f32 || type == DType::f64 || type == DType::bf16)
    bytes[size_of(type) - 1] = std::byte{0x80};  // little-endian
  return bytes;
}

struct Gather {
  Walk<3> positions;  // of ids: offsets in ids, x, result
  StridedCopy row, absent_row;
  alignas(8) std::array<std::byte, 8> absent;
  Side over;
  int64_t bytes;
  int64_t grain = 1;  // rows worth a thread's waking

  // Copies the row that position `at` asks for; each way to copy takes (copy, from, to).
  template <class F>
  void pick(const KernelRun& run, const Walk<3>& at, const F& copy) const {
    const int32_t* ids = reinterpret_cast<const int32_t*>(run.inputs[1]);
    const int64_t id = ids[at.offset[0]] - over.origin;
    std::byte* to = run.results[0] + at.offset[2] * bytes;
    if (id < 0 || id >= over.size)
      copy(absent_row, absent.data(), to);
    else
      copy(row, run.inputs[0] + (at.offset[1] + id * over.stride) * bytes, to);
  }

  void operator()(const KernelRun& run) const {
    if (positions.count() < run.team.size) {  // few rows, perhaps long ones
      Walk<3> at = positions;
      for (int64_t i = 0; i < positions.count(); ++i, at.next())
        pick(run, at, [&](const StridedCopy& c, const std::byte* from, std::byte* to) {
          c.run(from, to, run.team);
        });
      return;
    }
    parallel_ranges(run.team, positions.count(), grain, [&](int64_t first, int64_t last) {
      Walk<3> at = positions;
      at.seek(first);
      for (int64_t i = first; i < last; ++i, at.next())
        pick(run, at,
             [](const StridedCopy& c, const std::byte* from, std::byte* to) { c.run(from, to); });
    });
  }
};

}  // namespace

Kernel prepare_gather(const KernelCall& call) {
  const View &x = call.inputs[0], &ids = call.inputs[1], &y = call.results[0];
  const DimId over = dim_attr(call, "over");
  require(has(x, over) && ids.dtype == DType::i32 && x.dtype == y.dtype, call, "operands");
  Gather gather;
  gather.over = side_of(x, over);
  gather.bytes = size_of(x.dtype);
  gather.absent = absent_element(x.dtype);
  Extents row, absent_row;
  int64_t row_bytes = gather.bytes;
  for (DimId d : y.dims) {
    const Side to = side_of(y, d);
    const int64_t from = d == over ? 0 : side_of(x, d).stride;
    if (has(ids, d)) {
      gather.positions.add(to.size, {side_of(ids, d).stride, from, to.stride});
      continue;
    }
    row_bytes *= to.size;
    row.add({to.size, from, to.stride});
    absent_row.add({to.size, 0, to.stride});
  }
  gather.grain = (int64_t{1} << 15) / (64 + row_bytes);
  gather.row = StridedCopy(gather.bytes, row);
  gather.absent_row = StridedCopy(gather.bytes, absent_row);
  return gather;
}

}  // namespace mtf
