// The loops of sums, maxima and minima for one instruction set: 16 chains, and binary trees over
// rows. A chain that gets nothing holds the neutral element, which changes no bit of what it meets.
#include "elementwise.h"
#include "elementwise_vector.h"

namespace mtf::MTF_ISA {

void add_elementwise_loops(Loops&);

namespace {

constexpr int chain_count = 16;

template <class M, Scalar op>
struct Fold {
  using T = typename M::Element;
  using V = typename M::V;
  static constexpr int vectors = chain_count / M::lanes;

  static T neutral() {
    if constexpr (op == Scalar::add)
      return M::integer ? T(0) : T(-0.0);
    else if constexpr (M::integer)
      return op == Scalar::maximum ? T(-2147483647 - 1) : T(2147483647);
    else
      return op == Scalar::maximum ? -static_cast<T>(__builtin_inf())
                                   : static_cast<T>(__builtin_inf());
  }

  static V combine(V a, V b) {
    Operands<M> x{a, b, {}, {}, {}};
    if constexpr (op == Scalar::add)
      return ScalarOps<M>::add(x);
    else if constexpr (op == Scalar::maximum)
      return ScalarOps<M>::maximum(x);
    else
      return ScalarOps<M>::minimum(x);
  }
  static T combine_one(T a, T b) {
    if constexpr (op == Scalar::add)
      return a + b;
    else
      return combine(a - V{}, b - V{})[0];
  }

  static void clear(void* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<T*>(out)[i] = neutral();
  }

  struct Chains {
    V v[vectors];
    void add(const T* from) {
      for (int k = 0; k < vectors; ++k)
        v[k] = combine(v[k], load<V>(from + k * M::lanes));
    }
    // Elements 0..n-1 on chains 0..n-1, of which the last may get none.
    void add_stretch(const T* from, int64_t n) {
      for (; n >= chain_count; n -= chain_count, from += chain_count)
        add(from);
      if (n == 0)
        return;
      T rest[chain_count];
      clear(rest, chain_count);
      __builtin_memcpy(rest, from, static_cast<size_t>(n) * sizeof(T));
      add(rest);
    }
  };

  static void chains(void* chains, const void* from, int64_t n) {
    Chains c;
    __builtin_memcpy(c.v, chains, sizeof c.v);
    c.add_stretch(static_cast<const T*>(from), n);
    __builtin_memcpy(chains, c.v, sizeof c.v);
  }

  static void leaves(void* out, const void* from, int64_t count, int64_t length) {
    constexpr int64_t together = 16;
    T sums[together * chain_count];
    auto* at = static_cast<const T*>(from);
    auto* to = static_cast<T*>(out);
    for (int64_t k = 0; k < count; k += together) {
      const int64_t some = count - k < together ? count - k : together;
      for (int64_t i = 0; i < some; ++i, at += length) {
        Chains c;
        clear(c.v, chain_count);
        c.add_stretch(at, length);
        __builtin_memcpy(sums + i * chain_count, c.v, sizeof c.v);
      }
      tree(sums, some, chain_count, 1);
      __builtin_memcpy(to + k, sums, static_cast<size_t>(some) * sizeof(T));
    }
  }

  // out[i] = in[2i] + in[2i + 1]; out may be in.
  static void halve(T* out, const T* in, int64_t pairs) {
    typename M::Mask even, odd;
    for (int i = 0; i < M::lanes; ++i) {
      even[i] = 2 * i;
      odd[i] = 2 * i + 1;
    }
    int64_t i = 0;
    for (; i + M::lanes <= pairs; i += M::lanes) {
      V a = load<V>(in + 2 * i), b = load<V>(in + 2 * i + M::lanes);
      store(out + i, combine(__builtin_shuffle(a, b, even), __builtin_shuffle(a, b, odd)));
    }
    for (; i < pairs; ++i)
      out[i] = combine_one(in[2 * i], in[2 * i + 1]);
  }

  // Row i becomes rows 2i and 2i + 1 of `in`; a lone last row moves down.
  static void halve_rows(T* out, const T* in, int64_t rows, int64_t width) {
    if (width == 1)
      halve(out, in, rows / 2);
    else
      for (int64_t i = 0; i < rows / 2; ++i)
        combine_rows(out + i * width, in + 2 * i * width, in + (2 * i + 1) * width, width);
    if (rows % 2 == 1)
      __builtin_memmove(out + rows / 2 * width, in + (rows - 1) * width,
                        static_cast<size_t>(width) * sizeof(T));
  }

  static void combine_rows(T* out, const T* a, const T* b, int64_t width) {
    int64_t i = 0;
    for (; i + M::lanes <= width; i += M::lanes)
      store(out + i, combine(load<V>(a + i), load<V>(b + i)));
    for (; i < width; ++i)
      out[i] = combine_one(a[i], b[i]);
  }

  // Level by level: all groups at once while every row has a partner, then each on its own.
  static void tree(void* rows, int64_t groups, int64_t count, int64_t width) {
    T* r = static_cast<T*>(rows);
    for (; count > 1 && count % 2 == 0; count /= 2)
      halve_rows(r, r, groups * count, width);
    for (; count > 1; count = (count + 1) / 2)
      for (int64_t g = 0; g < groups; ++g)
        halve_rows(r + g * ((count + 1) / 2) * width, r + g * count * width, count, width);
  }
};

template <class M, Scalar op>
FoldLoops fold_loops(const Loops& t, Class c) {
  using F = Fold<M, op>;
  return {t.step[static_cast<int>(op)][static_cast<int>(c)], F::clear, F::chains, F::leaves,
          F::tree};
}

template <class M>
void add_folds(Loops& t, Class c) {
  const int k = static_cast<int>(c);
  t.fold[static_cast<int>(Folding::sum)][k] = fold_loops<M, Scalar::add>(t, c);
  t.fold[static_cast<int>(Folding::max)][k] = fold_loops<M, Scalar::maximum>(t, c);
  t.fold[static_cast<int>(Folding::min)][k] = fold_loops<M, Scalar::minimum>(t, c);
}

}  // namespace

const Loops& elementwise_loops() {
  static const Loops loops = [] {
    Loops t{};
    add_elementwise_loops(t);
    add_folds<Int>(t, Class::integer);
    add_folds<Real<float>>(t, Class::single);
    add_folds<Real<double>>(t, Class::twice);
    return t;
  }();
  return loops;
}

}  // namespace mtf::MTF_ISA
