// The proofs of machine.h: each computes the same values in several ways and compares bits.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <random>

#include "runtime/machine.h"
#include "runtime/thread_pool.h"

namespace mtf {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DimId m{0}, n{1}, k{2}, blocks{3};
constexpr int64_t rows = 96, columns = 80, summed = 640, block_count = 8;

View view(DType type, std::vector<DimId> dims, std::vector<int64_t> size) {
  View v;
  v.dtype = type;
  v.dims = std::move(dims);
  v.origin.assign(size.size(), 0);
  v.whole = v.size = std::move(size);
  return v;
}

int64_t elements(const View& v) {
  int64_t count = 1;
  for (int64_t s : v.size)
    count *= s;
  return count;
}

Bytes run(const KernelCall& call, const std::vector<const Bytes*>& inputs, Isa isa, int threads) {
  ThreadPool pool(threads);
  const View& result = call.results[0];
  Bytes out(static_cast<size_t>(elements(result) * size_of(result.dtype)));
  const auto scratch_bytes = static_cast<size_t>(threads * scratch_bytes_per_thread);
  Bytes memory(scratch_bytes + 64);
  void* aligned = memory.data();
  size_t space = memory.size();
  std::align(64, scratch_bytes, aligned, space);
  std::vector<const std::byte*> in;
  for (const Bytes* b : inputs)
    in.push_back(b->data());
  std::byte* results[] = {out.data()};
  prepare_cpu(call,
              isa)({in, results, {static_cast<std::byte*>(aligned), scratch_bytes}, pool.team()});
  return out;
}

// Standard normal numbers.
Bytes random_numbers(DType type, int64_t count, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Bytes out(static_cast<size_t>(count * size_of(type)));
  for (int64_t i = 0; i < count; ++i) {
    const double x = normal(random);
    const auto f = static_cast<float>(x);
    std::byte* at = out.data() + i * size_of(type);
    if (type == DType::f64)
      std::memcpy(at, &x, 8);
    else if (type == DType::f32)
      std::memcpy(at, &f, 4);
    else  // bf16: the upper half of an f32, here on a little-endian machine
      std::memcpy(at, reinterpret_cast<const std::byte*>(&f) + 2, 2);
  }
  return out;
}

// A matrix, row-major.
struct Matrix {
  int64_t height = 0, width = 0, element = 0;  // element: bytes
  Bytes data;

  Matrix part(int64_t top, int64_t tall, int64_t left, int64_t wide) const {
    Matrix out{tall, wide, element, Bytes(static_cast<size_t>(tall * wide * element))};
    for (int64_t i = 0; i < tall; ++i)
      std::memcpy(out.data.data() + i * wide * element,
                  data.data() + ((top + i) * width + left) * element,
                  static_cast<size_t>(wide * element));
    return out;
  }
  void put(const Matrix& piece, int64_t top, int64_t left) {
    for (int64_t i = 0; i < piece.height; ++i)
      std::memcpy(data.data() + ((top + i) * width + left) * element,
                  piece.data.data() + i * piece.width * element,
                  static_cast<size_t>(piece.width * element));
  }
};

class ProductProof {
 public:
  explicit ProductProof(DType type) : type_(type), sum_(type == DType::f64 ? type : DType::f32) {
    std::mt19937 random(1);
    const int64_t bytes = size_of(type);
    a_ = {rows, summed, bytes, random_numbers(type, rows * summed, random)};
    b_ = {summed, columns, bytes, random_numbers(type, summed * columns, random)};
  }

  // Empty if everything agrees, else what does not.
  std::string difference() const {
    Bytes portable;
    for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
      if (!isa_available(isa))
        continue;
      const Bytes whole = product(a_, b_, block_count, false, isa, 1);
      if (isa == Isa::portable)
        portable = whole;
      if (type_ != DType::bf16 && whole != portable)
        return fmt::format("{} and portable differ", name_of(isa));
      if (product(a_, b_, block_count, false, isa, 2) != whole)
        return fmt::format("one and two threads differ on {}", name_of(isa));
      for (auto [tall, wide] : {std::pair{1, 2}, {2, 1}, {4, 4}, {3, 5}, {32, 16}})
        if (in_pieces(tall, wide, isa) != whole)
          return fmt::format("the whole and {}x{} pieces differ on {}", tall, wide, name_of(isa));
      for (int64_t parts : {2, 4, 8})
        if (by_partial_sums(parts, isa) != whole)
          return fmt::format("the whole and {} partial sums differ on {}", parts, name_of(isa));
    }
    return {};
  }

 private:
  // a times b, the summed dim in `block_number` blocks, which are folded unless `kept`.
  Bytes product(const Matrix& a, const Matrix& b, int64_t block_number, bool kept, Isa isa,
                int threads) const {
    KernelCall call;
    call.kernel = "product";
    call.inputs = {view(type_, {m, k}, {a.height, a.width}),
                   view(type_, {k, n}, {b.height, b.width})};
    call.terms = {{0, 1, {{k, block_number, kept ? blocks : DimId{}}}}};
    call.results = {kept ? view(sum_, {blocks, m, n}, {block_number, a.height, b.width})
                         : view(sum_, {m, n}, {a.height, b.width})};
    return run(call, {&a.data, &b.data}, isa, threads);
  }

  Bytes in_pieces(int64_t tall, int64_t wide, Isa isa) const {
    Matrix out{rows, columns, size_of(sum_),
               Bytes(static_cast<size_t>(rows * columns * size_of(sum_)))};
    const int64_t height = rows / tall, width = columns / wide;
    for (int64_t i = 0; i < tall; ++i)
      for (int64_t j = 0; j < wide; ++j) {
        const Matrix a = a_.part(i * height, height, 0, summed);
        const Matrix b = b_.part(0, summed, j * width, width);
        out.put({height, width, size_of(sum_), product(a, b, block_count, false, isa, 1)},
                i * height, j * width);
      }
    return out.data;
  }

  Bytes by_partial_sums(int64_t parts, Isa isa) const {
    Bytes partial;
    const int64_t length = summed / parts;
    for (int64_t p = 0; p < parts; ++p) {
      const Bytes piece =
          product(a_.part(0, rows, p * length, length), b_.part(p * length, length, 0, columns),
                  block_count / parts, true, isa, 1);
      partial.insert(partial.end(), piece.begin(), piece.end());
    }
    KernelCall fold;
    fold.kernel = "tree_sum";
    fold.inputs = {view(sum_, {blocks, m, n}, {block_count, rows, columns})};
    fold.results = {view(sum_, {m, n}, {rows, columns})};
    fold.reduced = {{blocks, 1, {}}};
    return run(fold, {&partial}, isa, 1);
  }

  DType type_, sum_;
  Matrix a_, b_;
};

Bytes elementwise(Scalar op, DType type, const Bytes& x, Isa isa) {
  KernelCall call;
  call.kernel = "map";
  const auto count = static_cast<int64_t>(x.size()) / size_of(type);
  call.inputs = call.results = {view(type, {m}, {count})};
  call.body = {{{op, type, 0}}, {1}};
  return run(call, {&x}, isa, 1);
}

// Every suffix of an array gives the suffix of the result, on all instruction sets alike.
std::string position_difference(DType type) {
  constexpr int64_t count = 67;
  std::mt19937 random(2);
  const Bytes x = random_numbers(type, count, random);
  for (auto [op, name] : {std::pair{Scalar::exp, "exp"},
                          {Scalar::tanh, "tanh"},
                          {Scalar::sin, "sin"},
                          {Scalar::erf, "erf"},
                          {Scalar::rsqrt, "rsqrt"}}) {
    const Bytes portable = elementwise(op, type, x, Isa::portable);
    for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
      for (int64_t first = 0; isa_available(isa) && first < count; ++first) {
        const auto skip = static_cast<ptrdiff_t>(first * size_of(type));
        const Bytes rest = elementwise(op, type, Bytes(x.begin() + skip, x.end()), isa);
        if (std::memcmp(rest.data(), portable.data() + skip, rest.size()) != 0)
          return fmt::format("{} differs from element {} on, on {}", name, first, name_of(isa));
      }
  }
  return {};
}

Proof proof(std::string what, std::string compared, const std::string& difference) {
  return {std::move(what), difference.empty(), difference.empty() ? compared : difference};
}

}  // namespace

std::vector<Proof> prove_laws() {
  std::vector<Proof> out;
  const std::string shape = fmt::format("{}x{} times {}x{}", rows, summed, summed, columns);
  for (auto [type, name] :
       {std::pair{DType::f32, "f32"}, {DType::f64, "f64"}, {DType::bf16, "bf16"}})
    out.push_back(proof(fmt::format("products in {} are the same whole and in pieces", name),
                        shape + ": 5 cuts of rows and columns, 3 of the sum, 1 and 2 threads",
                        ProductProof(type).difference()));
  for (auto [type, name] : {std::pair{DType::f32, "f32"}, {DType::f64, "f64"}})
    out.push_back(proof(fmt::format("functions in {} do not depend on an element's place", name),
                        "exp, tanh, sin, erf, rsqrt at 67 places", position_difference(type)));
  return out;
}

}  // namespace mtf
