// uniform and normal: random tensors whose every element is a function of (seed, step, path, its
// row-major index over the declared dims of the whole tensor), so that no shard, storage order or
// thread changes a value. philox.h says which word an element takes.
#include <cmath>

#include "movement.h"
#include "philox.h"
#include "random_normal.h"
#include "table.h"

namespace mtf {
namespace {

float round_to(double x, float) {
  return static_cast<float>(x);
}
double round_to(double x, double) {
  return x;
}
Bf16 round_to(double x, Bf16) {  // once: to 8 significant bits, which f32 then holds exactly
  const uint64_t bits = std::bit_cast<uint64_t>(x), unit = uint64_t{1} << 45;
  const uint64_t rounded = (bits + unit / 2 - 1 + (bits / unit & 1)) & ~(unit - 1);
  return to_bf16(static_cast<float>(std::bit_cast<double>(rounded)));
}

struct Draws {
  Pieces pieces;  // offset in the result, index over the declared dims
  int64_t first_index = 0;
  PhiloxKey key;
  bool stepped = false;
};

Draws draws_of(const KernelCall& call) {
  const View& y = call.results[0];
  const std::vector<DimId> order = dims_attr(call, "order");
  require(order.size() == y.dims.size(), call, "the declared dims are not those of the result");
  Draws draws;
  std::vector<int64_t> index_strides(order.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    require(has(y, order[i]), call, "the declared dims are not those of the result");
    index_strides[i] = stride;
    draws.first_index += side_of(y, order[i]).origin * stride;
    stride *= side_of(y, order[i]).whole;
  }
  Walk<2> space;
  for (DimId d : y.dims) {
    const auto i = std::find(order.begin(), order.end(), d) - order.begin();
    space.add(side_of(y, d).size, {side_of(y, d).stride, index_strides[i]});
  }
  draws.pieces = Pieces(space, 1 << 12);
  draws.key =
      random_key(call.attrs.get_or<int64_t>("seed", 0), call.attrs.get_or<std::string>("path", ""));
  draws.stepped = !call.inputs.empty();
  return draws;
}

// Writes value_of(word) to every element of the result.
template <class T, class F>
void draw(const Draws& draws, const F& value_of, const KernelRun& run) {
  const int32_t step = draws.stepped ? *reinterpret_cast<const int32_t*>(run.inputs[0]) : 0;
  T* y = reinterpret_cast<T*>(run.results[0]);
  parallel_ranges(run.team, draws.pieces.count(), 1, [&](int64_t first, int64_t last) {
    uint64_t known = ~uint64_t{0};  // the block at hand
    PhiloxCounter words{};
    draws.pieces.each(first, last, [&](const Pieces::Piece& p) {
      uint64_t index = static_cast<uint64_t>(draws.first_index + p.b);
      for (int64_t i = 0; i < p.size; ++i, index += draws.pieces.step_b()) {
        if (index / 4 != known) {
          known = index / 4;
          words = random_block(draws.key, step, known);
        }
        y[p.a + i * draws.pieces.step_a()] = value_of(words[index % 4]);
      }
    });
  });
}

template <class T>
Kernel uniform(const KernelCall& call) {
  const double low = call.attrs.get_or("low", 0.0), high = call.attrs.get_or("high", 1.0);
  const T last = std::nextafter(static_cast<T>(high), static_cast<T>(low));
  return [=, draws = draws_of(call)](const KernelRun& run) {
    const auto value_of = [=](uint32_t word) {
      const double part = (word >> 8) * 0x1p-24;
      return std::min(static_cast<T>(low + (high - low) * part), last);
    };
    draw<T>(draws, value_of, run);
  };
}

template <class T>
Kernel normal(const KernelCall& call) {
  constexpr double phi_minus_2 = 0.022750131948179207200;  // Phi(-2)
  const double std_deviation = call.attrs.get_or("std", 1.0);
  const bool truncated = call.attrs.get_or("truncated", false);
  const double low = truncated ? phi_minus_2 : 0.0, width = 1.0 - 2.0 * low;
  return [=, draws = draws_of(call)](const KernelRun& run) {
    const auto value_of = [=](uint32_t word) {
      const double p = low + width * ((word + 0.5) * 0x1p-32);
      return round_to(normal_quantile(p) * std_deviation, T{});
    };
    draw<T>(draws, value_of, run);
  };
}

}  // namespace

// [low, high), of the word's upper 24 bits.
Kernel prepare_uniform(const KernelCall& call) {
  switch (call.results[0].dtype) {
    case DType::f32:
      return uniform<float>(call);
    case DType::f64:
      return uniform<double>(call);
    default:
      misused(call, "dtype");
  }
}

// Mean 0; truncated: within 2 deviations, as the distribution is between its points there.
Kernel prepare_normal(const KernelCall& call) {
  switch (call.results[0].dtype) {
    case DType::f32:
      return normal<float>(call);
    case DType::f64:
      return normal<double>(call);
    case DType::bf16:
      return normal<Bf16>(call);
    default:
      misused(call, "dtype");
  }
}

}  // namespace mtf
