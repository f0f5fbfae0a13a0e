#include "collective_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "plan/traffic.h"

namespace mtf {
namespace {

using Bytes = std::vector<std::byte>;

uint16_t to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
float from_bf16(uint16_t x) {
  return std::bit_cast<float>(uint32_t{x} << 16);
}

// ---- one element, as the definition has it ----

template <class T>
T reduce_two(Reduction r, T a, T b) {
  if (r == Reduction::sum)
    return static_cast<T>(a + b);
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b))
      return std::numeric_limits<T>::quiet_NaN();
    if (a == 0 && b == 0)
      return std::signbit(a) == (r == Reduction::min) ? a : b;
  }
  return r == Reduction::max ? std::max(a, b) : std::min(a, b);
}

// Bits of one element, wide enough for any type.
uint64_t reduce_bits(Reduction r, DType t, uint64_t a, uint64_t b) {
  switch (t) {
    case DType::f32:
      return std::bit_cast<uint32_t>(reduce_two(r, std::bit_cast<float>(static_cast<uint32_t>(a)),
                                                std::bit_cast<float>(static_cast<uint32_t>(b))));
    case DType::f64:
      return std::bit_cast<uint64_t>(
          reduce_two(r, std::bit_cast<double>(a), std::bit_cast<double>(b)));
    case DType::bf16:
      return to_bf16(
          reduce_two(r, from_bf16(static_cast<uint16_t>(a)), from_bf16(static_cast<uint16_t>(b))));
    case DType::i32:
      return static_cast<uint32_t>(
          reduce_two<int64_t>(r, static_cast<int32_t>(a), static_cast<int32_t>(b)));
    case DType::u8:
    case DType::boolean:
      return reduce_two(r, a, b);
  }
  return 0;
}

// The tree over positions [begin, begin + width), width a power of two; positions past the end are
// absent, which leaves the left operand as it is.
uint64_t tree(Reduction r, DType t, const std::vector<uint64_t>& leaves, size_t begin,
              size_t width) {
  if (width == 1)
    return leaves[begin];
  const uint64_t left = tree(r, t, leaves, begin, width / 2);
  if (begin + width / 2 >= leaves.size())
    return left;
  return reduce_bits(r, t, left, tree(r, t, leaves, begin + width / 2, width / 2));
}

// ---- operands ----

uint64_t element(const Bytes& buffer, DType t, int64_t i) {
  uint64_t bits = 0;  // little endian
  std::memcpy(&bits, buffer.data() + i * size_of(t), static_cast<size_t>(size_of(t)));
  return bits;
}

void set_element(Bytes& buffer, DType t, int64_t i, uint64_t bits) {
  std::memcpy(buffer.data() + i * size_of(t), &bits, static_cast<size_t>(size_of(t)));
}

uint64_t scrambled(uint64_t x) {  // splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Numbers of very different sizes and both zeros; a few NaNs where only max and min look.
Bytes operand(DType t, Reduction r, int64_t elements, int position) {
  Bytes buffer(static_cast<size_t>(elements * size_of(t)));
  for (int64_t i = 0; i < elements; ++i) {
    const uint64_t random =
        scrambled(static_cast<uint64_t>(i * 64 + position + 1) * 0x9e3779b97f4a7c15);
    double x = std::ldexp(static_cast<double>(static_cast<int32_t>(random)), (random >> 32) % 24);
    const uint64_t special = (random >> 40) % 16;
    if (special < 2)
      x = special ? 0.0 : -0.0;
    if (special == 2 && r != Reduction::sum)
      x = std::numeric_limits<double>::quiet_NaN();
    const float f = static_cast<float>(x);
    switch (t) {
      case DType::f32:
        set_element(buffer, t, i, std::bit_cast<uint32_t>(f));
        break;
      case DType::f64:
        set_element(buffer, t, i, std::bit_cast<uint64_t>(x));
        break;
      case DType::bf16:
        set_element(buffer, t, i, to_bf16(f));
        break;
      case DType::i32:
      case DType::u8:
        set_element(buffer, t, i, random);
        break;
      case DType::boolean:
        set_element(buffer, t, i, random % 2);
        break;
    }
  }
  return buffer;
}

Bytes expected_reduction(DType t, Reduction r, const std::vector<Bytes>& operands) {
  Bytes result(operands[0].size());
  std::vector<uint64_t> leaves(operands.size());
  for (int64_t i = 0; i < static_cast<int64_t>(result.size()) / size_of(t); ++i) {
    for (size_t p = 0; p < operands.size(); ++p)
      leaves[p] = element(operands[p], t, i);
    set_element(result, t, i, tree(r, t, leaves, 0, std::bit_ceil(leaves.size())));
  }
  return result;
}

// ---- the checks ----

class Checker {
 public:
  Checker(Communicator& comm, int64_t elements) : comm_(comm), p_(comm.size()), n_(elements) {
    program_.mesh.axes = {{"all", p_}};
    group_ = group_of(program_.mesh, comm.rank(), {all_});
  }

  void reduce(DType t, Reduction r, Algorithm algorithm) {
    what_ = fmt::format("all_reduce {} {} {}", name_of(t), static_cast<int>(r),
                        static_cast<int>(algorithm));
    const std::vector<Bytes> operands = everyones(t, r, n_);
    Bytes data = operands[me()];
    Bytes staging(data.size() * (algorithm == Algorithm::gather ? static_cast<size_t>(p_) : 1));
    counted(t, n_, AllReduce{{all_}, r, algorithm},
            [&](Communicator& c) { all_reduce(c, group_, r, algorithm, t, data, staging); });
    same(data, expected_reduction(t, r, operands));
  }

  void scatter(DType t, Algorithm algorithm) {
    what_ = fmt::format("reduce_scatter {} {}", name_of(t), static_cast<int>(algorithm));
    const std::vector<Bytes> operands = everyones(t, Reduction::sum, n_ * p_);
    Bytes all = operands[me()], staging(all.size());
    counted(t, n_ * p_, ReduceScatter{{all_}, {}, algorithm},
            [&](Communicator& c) { reduce_scatter(c, group_, algorithm, t, all, staging); });
    same(piece(all, me()), piece(expected_reduction(t, Reduction::sum, operands), me()));
  }

  void gather() {
    what_ = "all_gather";
    const std::vector<Bytes> operands = everyones(DType::f32, Reduction::sum, n_);
    Bytes all(operands[0].size() * operands.size()), expected;
    std::copy(operands[me()].begin(), operands[me()].end(),
              all.begin() + static_cast<int64_t>(operands[0].size() * me()));
    for (const Bytes& o : operands)
      expected.insert(expected.end(), o.begin(), o.end());
    counted(DType::f32, n_, AllGather{all_, {}},
            [&](Communicator& c) { all_gather(c, group_, all); });
    same(all, expected);
  }

  void exchange_all() {
    what_ = "all_to_all";
    const std::vector<Bytes> operands = everyones(DType::f32, Reduction::sum, n_ * p_);
    Bytes in(operands[0].size()), expected;
    for (const Bytes& o : operands) {
      const Bytes part = piece(o, me());
      expected.insert(expected.end(), part.begin(), part.end());
    }
    counted(DType::f32, n_ * p_, AllToAll{all_, {}, {}},
            [&](Communicator& c) { all_to_all(c, group_, operands[me()], in); });
    same(in, expected);
  }

  void move(int offset, bool wrap) {
    what_ = fmt::format("shift by {}{}", offset, wrap ? " with wrap" : "");
    const std::vector<Bytes> operands = everyones(DType::f32, Reduction::sum, n_);
    const int from = static_cast<int>(me()) - offset;
    Bytes in(operands[0].size(), std::byte{0xff}), expected(in.size());
    if (wrap || (from >= 0 && from < p_))
      expected = operands[static_cast<size_t>((from % p_ + p_) % p_)];
    counted(DType::f32, n_, Shift{all_, {}, offset, wrap},
            [&](Communicator& c) { shift(c, group_, offset, wrap, operands[me()], in); });
    same(in, expected);
  }

 private:
  size_t me() const { return static_cast<size_t>(comm_.rank()); }

  std::vector<Bytes> everyones(DType t, Reduction r, int64_t elements) const {
    std::vector<Bytes> all;
    for (int position = 0; position < p_; ++position)
      all.push_back(operand(t, r, elements, position));
    return all;
  }

  Bytes piece(const Bytes& all, size_t i) const {
    const auto size = static_cast<int64_t>(all.size()) / p_;
    const auto begin = all.begin() + static_cast<int64_t>(i) * size;
    return {begin, begin + size};
  }

  // Runs f and compares the most that any rank sent with the plan's numbers.
  template <class F>
  void counted(DType t, int64_t elements, Action action, F f) {
    TracedCommunicator traced(comm_);
    f(traced);
    Value value;
    value.type.dtype = t;
    value.local_sizes = {elements};
    program_.values = {value};
    const Traffic planned =
        traffic(program_, {std::move(action), {{0}}, {{0}}, {}, Phase::forward});

    std::vector<Traffic> sent(static_cast<size_t>(p_));
    sent[me()] = traced.sent;
    all_gather(comm_, group_, std::as_writable_bytes(std::span(sent)));
    Traffic most;
    for (const Traffic& s : sent)
      most = {std::max(most.bytes, s.bytes), std::max(most.messages, s.messages)};
    if (most.bytes != planned.bytes || most.messages != planned.messages)
      fail(fmt::format("sent {} bytes in {} messages, planned {} in {}", most.bytes, most.messages,
                       planned.bytes, planned.messages));
  }

  void same(const Bytes& result, const Bytes& expected) const {
    if (result != expected)
      fail(fmt::format(
          "differs from byte {}",
          std::mismatch(result.begin(), result.end(), expected.begin()).first - result.begin()));
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw std::runtime_error(
        fmt::format("{}, rank {} of {}, {} elements: {}", what_, comm_.rank(), p_, n_, message));
  }

  static constexpr AxisId all_{0};
  Communicator& comm_;
  int p_;
  int64_t n_;
  Program program_;
  Group group_;
  std::string what_;
};

}  // namespace

void check_collectives(Communicator& comm, int64_t elements) {
  Checker check(comm, elements);
  std::vector<Algorithm> algorithms = {Algorithm::gather};
  if (std::has_single_bit(static_cast<unsigned>(comm.size())))
    algorithms = {Algorithm::gather, Algorithm::doubling, Algorithm::halving};
  for (Algorithm algorithm : algorithms) {
    for (DType t : {DType::f32, DType::f64, DType::bf16, DType::i32}) {
      for (Reduction r : {Reduction::sum, Reduction::max, Reduction::min})
        check.reduce(t, r, algorithm);
      check.scatter(t, algorithm);
    }
    for (DType t : {DType::u8, DType::boolean})
      for (Reduction r : {Reduction::max, Reduction::min})
        check.reduce(t, r, algorithm);
  }
  check.gather();
  check.exchange_all();
  for (int offset : {-1, 0, 1, 2, comm.size()})
    for (bool wrap : {false, true})
      check.move(offset, wrap);
}

}  // namespace mtf
