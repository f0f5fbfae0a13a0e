// Compiled once per instruction set. Everything but the exported table is local to this file.
#include "product_isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MTF_JOIN2(a, b) a##b
#define MTF_JOIN(a, b) MTF_JOIN2(a, b)

// Vectors wider than the instruction set's registers only pass between functions of this file.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace mtf {
namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64, tile_rows = 12;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32, tile_rows = 6;
#else
constexpr int vector_bytes = 16, tile_rows = 4;
#endif

struct Bf16 {
  uint16_t bits;
};

template <class T>
struct Vectors;
template <>
struct Vectors<float> {
  typedef float Wide __attribute__((vector_size(vector_bytes), may_alias, aligned(4)));
  typedef float Four __attribute__((vector_size(16), may_alias, aligned(4)));
};
template <>
struct Vectors<double> {
  typedef double Wide __attribute__((vector_size(vector_bytes), may_alias, aligned(8)));
  typedef double Four __attribute__((vector_size(32), may_alias, aligned(8)));
};
template <class T>
using Wide = typename Vectors<T>::Wide;
template <class T>
using Four = typename Vectors<T>::Four;
template <class T>
constexpr int width = vector_bytes / static_cast<int>(sizeof(T));

inline float fma_one(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline double fma_one(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

template <class T>
inline Wide<T> fma_wide(Wide<T> a, Wide<T> b, Wide<T> c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return (Wide<T>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  else
    return (Wide<T>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return (Wide<T>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  else
    return (Wide<T>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  for (int i = 0; i < width<T>; ++i)
    c[i] = fma_one(a[i], b[i], c[i]);
  return c;
#endif
}

// All lanes x; not 0 + x, which loses the sign of -0.
template <class T>
inline Wide<T> spread(T x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return (Wide<T>)_mm512_set1_ps(x);
  else
    return (Wide<T>)_mm512_set1_pd(x);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return (Wide<T>)_mm256_set1_ps(x);
  else
    return (Wide<T>)_mm256_set1_pd(x);
#else
  Wide<T> v{};
  for (int i = 0; i < width<T>; ++i)
    v[i] = x;
  return v;
#endif
}

template <class T>
inline Wide<T> load(const T* p) {
  return *reinterpret_cast<const Wide<T>*>(p);
}
template <class T>
inline void store(T* p, Wide<T> v) {
  *reinterpret_cast<Wide<T>*>(p) = v;
}

inline float widen(float x) {
  return x;
}
inline double widen(double x) {
  return x;
}
inline float widen(Bf16 x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}

inline Wide<float> load_as(const float* p) {
  return load(p);
}
inline Wide<double> load_as(const double* p) {
  return load(p);
}
inline Wide<float> load_as(const Bf16* p) {
  typedef uint32_t Bits __attribute__((vector_size(vector_bytes)));
  typedef uint16_t Half __attribute__((vector_size(vector_bytes / 2), may_alias, aligned(2)));
  const Bits bits = __builtin_convertvector(*reinterpret_cast<const Half*>(p), Bits) << 16;
  return (Wide<float>)bits;
}

inline Four<float> load_four(const float* p) {
  return *reinterpret_cast<const Four<float>*>(p);
}
inline Four<double> load_four(const double* p) {
  return *reinterpret_cast<const Four<double>*>(p);
}
inline Four<float> load_four(const Bf16* p) {
  return Four<float>{widen(p[0]), widen(p[1]), widen(p[2]), widen(p[3])};
}

// ---- packing ----

constexpr int64_t copied_together = 8;  // k of one visit to a panel, where rows are consecutive
constexpr int64_t transposed_together = 64;  // k of one visit to four rows, otherwise

template <class T, class Src>
void pack_panel(const PackArgs& p, int64_t first, int64_t rows, int64_t k0, int64_t k1, T* panel) {
  const Src* source = static_cast<const Src*>(p.source);
  for (int64_t k = k0; k < k1; ++k)
    for (int64_t r = 0; r < p.width; ++r)
      panel[k * p.width + r] = r < rows ? widen(source[p.rows[first + r] + k * p.k_stride]) : T{0};
}

template <class T, class Src>
inline void copy_run(const Src* from, T* to, int64_t count) {
  int64_t i = 0;
  for (; i + width<T> <= count; i += width<T>)
    store(to + i, load_as(from + i));
  for (; i + 4 <= count; i += 4)
    *reinterpret_cast<Four<T>*>(to + i) = load_four(from + i);
  for (; i < count; ++i)
    to[i] = widen(from[i]);
}

// Rows that lie next to each other: each k is one copy. What the next call will read is fetched
// ahead: its cache lines are far apart, which the hardware does not foresee.
template <class T, class Src>
void copy_panel(const PackArgs& p, int64_t first, int64_t rows, int64_t k0, int64_t k1, T* panel) {
  const Src* source = static_cast<const Src*>(p.source) + p.rows[first];
  for (int64_t k = k0; k < k1; ++k) {
    const Src* from = source + k * p.k_stride;
    T* to = panel + k * p.width;
    const char* ahead = reinterpret_cast<const char*>(from + copied_together * p.k_stride);
    for (int64_t byte = 0; byte < rows * static_cast<int64_t>(sizeof(Src)); byte += 64)
      __builtin_prefetch(ahead + byte);
    if (rows == tile_rows)
      copy_run(from, to, tile_rows);
    else if (rows == 2 * width<T>)
      copy_run(from, to, 2 * width<T>);
    else
      copy_run(from, to, rows);
    for (int64_t r = rows; r < p.width; ++r)
      to[r] = 0;
  }
}

// Four rows by four k.
template <class T, class Src>
inline void transpose_four(const Src* source, const int64_t* row, T* to, int64_t to_stride) {
  const Four<T> v0 = load_four(source + row[0]), v1 = load_four(source + row[1]);
  const Four<T> v2 = load_four(source + row[2]), v3 = load_four(source + row[3]);
  const Four<T> a = __builtin_shufflevector(v0, v1, 0, 4, 1, 5);
  const Four<T> b = __builtin_shufflevector(v2, v3, 0, 4, 1, 5);
  const Four<T> c = __builtin_shufflevector(v0, v1, 2, 6, 3, 7);
  const Four<T> d = __builtin_shufflevector(v2, v3, 2, 6, 3, 7);
  *reinterpret_cast<Four<T>*>(to) = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  *reinterpret_cast<Four<T>*>(to + to_stride) = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  *reinterpret_cast<Four<T>*>(to + 2 * to_stride) = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  *reinterpret_cast<Four<T>*>(to + 3 * to_stride) = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

// Rows whose elements follow each other along k. Whole cache lines of four rows are used before the
// next four, as rows a power of two apart evict each other; a last group that is not full overlaps
// the one before it.
template <class T, class Src>
void transpose_panel(const PackArgs& p, int64_t first, int64_t rows, int64_t k0, int64_t k1,
                     T* panel) {
  const Src* source = static_cast<const Src*>(p.source);
  const int64_t whole = k0 + (k1 - k0) / 4 * 4;
  for (int64_t k = k0; k < whole; k += transposed_together)
    for (int64_t group = 0; group < rows; group += 4) {
      const int64_t r = group + 4 <= rows ? group : rows - 4;
      const int64_t* row = p.rows + first + r;
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t l = 0; l < transposed_together; l += 64 / static_cast<int64_t>(sizeof(Src)))
          __builtin_prefetch(source + row[i] + k + transposed_together + l);
      for (int64_t i = k; i < whole && i < k + transposed_together; i += 4)
        transpose_four(source + i, row, panel + i * p.width + r, p.width);
    }
  for (int64_t k = k0; k < whole; ++k)
    for (int64_t r = rows; r < p.width; ++r)
      panel[k * p.width + r] = 0;
  pack_panel<T, Src>(p, first, rows, whole, k1, panel);
}

// Neighbouring panels share the source's cache lines where rows are consecutive, so a few k are
// taken at a time across all panels.
template <class T, class Src>
void pack(const PackArgs& p) {
  const bool along_rows = is_consecutive(p.rows, p.row_count < p.height ? p.row_count : p.height);
  const int64_t step = along_rows ? copied_together : p.k_count;
  for (int64_t k = 0; k < p.k_count; k += step) {
    const int64_t end = k + step < p.k_count ? k + step : p.k_count;
    T* panel = static_cast<T*>(p.panels);
    for (int64_t first = 0; first < p.row_count; first += p.height, panel += p.panel_stride) {
      const int64_t rows = first + p.height < p.row_count ? p.height : p.row_count - first;
      if (is_consecutive(p.rows + first, rows))
        copy_panel<T, Src>(p, first, rows, k, end, panel);
      else if (p.k_stride == 1 && rows >= 4)
        transpose_panel<T, Src>(p, first, rows, k, end, panel);
      else
        pack_panel<T, Src>(p, first, rows, k, end, panel);
    }
  }
}

// ---- the register tile ----

template <class T, int rows, int vectors>
void tile(const TileArgs& t) {
  constexpr int lanes = 2 * width<T>;
  constexpr int64_t tile_size = int64_t{tile_rows} * lanes;
  const T* a = static_cast<const T*>(t.a);
  const T* b = static_cast<const T*>(t.b);
  int64_t height = t.height;
  const auto level = [&](int64_t i) {
    return i < t.held_levels ? static_cast<T*>(t.held) + i * tile_size
                             : static_cast<T*>(t.spare) + (i - t.held_levels) * tile_size;
  };
  for (int64_t leaf = 0; leaf < t.count; ++leaf) {
    Wide<T> acc[rows][vectors] = {};
    for (int32_t k = t.leaves[leaf].length; k > 0; --k) {
      Wide<T> right[vectors];
      for (int v = 0; v < vectors; ++v)
        right[v] = load(b + v * width<T>);
#pragma GCC unroll 12
      for (int r = 0; r < rows; ++r) {
        const Wide<T> left = spread(a[r]);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v)
          acc[r][v] = fma_wide<T>(left, right[v], acc[r][v]);
      }
      a += tile_rows;
      b += lanes;
    }
    for (int32_t m = t.leaves[leaf].merges; m > 0; --m) {
      const T* waiting = level(--height);
#pragma GCC unroll 12
      for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v)
          acc[r][v] = load(waiting + r * lanes + v * width<T>) + acc[r][v];
    }
    const bool last = leaf + 1 == t.count && t.result;
    T* waiting = last ? nullptr : level(height++);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) {
      T* to = last ? static_cast<T*>(t.result) + t.result_rows[r] : waiting + r * lanes;
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v)
        store(to + v * width<T>, acc[r][v]);
    }
  }
}

// ---- few rows ----

// `group` consecutive k for all lanes; the sums pass through memory (L1) once a group.
template <class T, class Src, int rows, int group>
void stream_group(const StreamArgs& s, int64_t k, int64_t whole) {
  const T* a = static_cast<const T*>(s.a) + k * rows;
  const Src* b = static_cast<const Src*>(s.b) + k * s.b_stride;
  T* acc = static_cast<T*>(s.acc);
  for (int64_t lane = 0; lane < whole; lane += width<T>) {
    Wide<T> sum[rows];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
      sum[r] = load(acc + r * s.acc_stride + lane);
#pragma GCC unroll 8
    for (int g = 0; g < group; ++g) {
      const Wide<T> right = load_as(b + g * s.b_stride + lane);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r)
        sum[r] = fma_wide<T>(spread(a[g * rows + r]), right, sum[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
      store(acc + r * s.acc_stride + lane, sum[r]);
  }
  for (int64_t lane = whole; lane < s.lanes; ++lane)
    for (int r = 0; r < rows; ++r) {
      T sum = acc[r * s.acc_stride + lane];
      for (int g = 0; g < group; ++g)
        sum = fma_one(a[g * rows + r], widen(b[g * s.b_stride + lane]), sum);
      acc[r * s.acc_stride + lane] = sum;
    }
}

template <class T, class Src, int rows>
void stream_rows(const StreamArgs& s) {
  constexpr int group = rows == 1 ? 8 : 4;
  const int64_t whole = s.lanes / width<T> * width<T>;
  int64_t k = 0;
  for (; k + group <= s.k_count; k += group)
    stream_group<T, Src, rows, group>(s, k, whole);
  for (; k < s.k_count; ++k)
    stream_group<T, Src, rows, 1>(s, k, whole);
}

template <class T, class Src>
void stream(const StreamArgs& s) {
  switch (s.rows) {
    case 1:
      return stream_rows<T, Src, 1>(s);
    case 2:
      return stream_rows<T, Src, 2>(s);
    case 3:
      return stream_rows<T, Src, 3>(s);
    default:
      return stream_rows<T, Src, 4>(s);
  }
}

template <class T>
void add(void* left, const void* right, int64_t count) {
  T* to = static_cast<T*>(left);
  const T* from = static_cast<const T*>(right);
  for (int64_t i = 0; i < count; ++i)
    to[i] = to[i] + from[i];
}

// ---- the table ----

template <class T, int rows>
constexpr void fill_tiles(ProductKernels& k) {
  k.tile[rows - 1][0] = tile<T, rows, 1>;
  k.tile[rows - 1][1] = tile<T, rows, 2>;
  if constexpr (rows > 1)
    fill_tiles<T, rows - 1>(k);
}

template <class T, class Narrow>
constexpr ProductKernels kernels_for() {
  ProductKernels k{};
  k.rows = tile_rows;
  k.lanes = 2 * width<T>;
  fill_tiles<T, tile_rows>(k);
  k.pack = pack<T, T>;
  k.pack_bf16 = pack<T, Narrow>;
  k.stream = stream<T, T>;
  k.stream_bf16 = stream<T, Narrow>;
  k.add = add<T>;
  return k;
}

}  // namespace

extern constexpr IsaProduct MTF_JOIN(product_, MTF_ISA){kernels_for<float, Bf16>(),
                                                        kernels_for<double, double>()};

}  // namespace mtf
