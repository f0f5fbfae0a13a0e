// Conversions: the cheapest path in each case of the table, and every path carried out on real
// numbers.
#include <catch2/catch.hpp>

#include <map>
#include <random>

#include "plan/lower.h"
#include "plan/relayout.h"

namespace mtf {
namespace {

const AxisId x{0}, y{1}, z{2};
const DimId i{0}, j{1}, k{2};

Program program_on(std::vector<Axis> axes, std::vector<int64_t> sizes) {
  Program p;
  p.mesh.axes = std::move(axes);
  for (int64_t size : sizes)
    p.dims.push_back({std::string(1, static_cast<char>('i' + p.dims.size())), size, {}, {}});
  return p;
}

const Type matrix{{{i, j}}, DType::f32};

// As `plan --program` prints actions, without their operands.
std::string text(const Program& p, const Action& action) {
  auto name = [&](DimId d) { return p[d].name; };
  auto axes = [&](const AxisList& list) { return show(p.mesh, list); };
  if (const auto* a = std::get_if<AllReduce>(&action))
    return "all_reduce " + axes(a->over);
  if (const auto* a = std::get_if<ReduceScatter>(&action))
    return "reduce_scatter " + name(a->dim) + " " + axes(a->over);
  if (const auto* a = std::get_if<AllGather>(&action))
    return "all_gather " + name(a->dim) + " " + axes({a->over});
  if (const auto* a = std::get_if<AllToAll>(&action))
    return "all_to_all " + name(a->concat) + " to " + name(a->split) + " " + axes({a->over});
  if (const auto* a = std::get_if<Slice>(&action))
    return "slice " + name(a->dim) + " " + axes({a->over});
  return "other";
}

std::string path(const Program& p, const Type& type, const Layout& from, const Layout& to) {
  std::string out;
  for (const Action& action : conversion(p, type, Reduction::sum, from, to))
    out += (out.empty() ? "" : ", ") + text(p, action);
  return out;
}

TEST_CASE("each entry of the table of conversions is one instruction") {
  const Program p = program_on({{"x", 2}, {"y", 4}}, {8, 16});
  auto one = [&](Layout from, Layout to) { return path(p, matrix, from, to); };
  CHECK(one({{{}, {}}, {}}, {{{}, {}}, {}}) == "");
  CHECK(one({{{}, {}}, {}}, {{{x}, {}}, {}}) == "slice i [x]");
  CHECK(one({{{x}, {}}, {}}, {{{}, {}}, {}}) == "all_gather i [x]");
  CHECK(one({{{x}, {}}, {}}, {{{}, {x}}, {}}) == "all_to_all i to j [x]");
  CHECK(one({{{}, {}}, {x}}, {{{}, {}}, {}}) == "all_reduce [x]");
  CHECK(one({{{}, {}}, {x}}, {{{}, {x}}, {}}) == "reduce_scatter j [x]");
  CHECK(one({{{x}, {}}, {y}}, {{{x}, {}}, {y}}) == "");
}

TEST_CASE("a sum is scattered, never all-reduced and sliced") {
  const Program p = program_on({{"x", 2}, {"y", 4}}, {8, 16});
  CHECK(path(p, matrix, {{{x}, {}}, {y}}, {{{x}, {y}}, {}}) == "reduce_scatter j [y]");
  CHECK(path(p, matrix, {{{x}, {}}, {y}}, {{{x, y}, {}}, {}}) == "reduce_scatter i [y]");
  // Axes of one dim, minor first in the sum, end as the dim's axes major first.
  CHECK(path(p, matrix, {{{}, {}}, {y, x}}, {{{x, y}, {}}, {}}) == "reduce_scatter i [y, x]");
  // y is summed first: x may be scattered only after that.
  CHECK(path(p, matrix, {{{}, {}}, {y, x}}, {{{x}, {}}, {}}) ==
        "all_reduce [y], reduce_scatter i [x]");
  CHECK(path(p, matrix, {{{}, {}}, {y, x}}, {{{}, {y}}, {}}) ==
        "reduce_scatter j [y], all_reduce [x]");
}

TEST_CASE("only the most minor axis of a dim moves first") {
  const Program p = program_on({{"x", 2}, {"y", 4}}, {8, 16});
  CHECK(path(p, matrix, {{{x, y}, {}}, {}}, {{{x}, {}}, {}}) == "all_gather i [y]");
  CHECK(path(p, matrix, {{{x, y}, {}}, {}}, {{{x}, {y}}, {}}) == "all_to_all i to j [y]");
  CHECK(path(p, matrix, {{{x, y}, {}}, {}}, {{{y}, {}}, {}}) ==
        "all_gather i [y], all_gather i [x], slice i [y]");
}

TEST_CASE("slices come before what moves bytes") {
  const Program p = program_on({{"x", 2}, {"y", 4}}, {8, 16});
  CHECK(path(p, matrix, {{{x}, {}}, {}}, {{{}, {y}}, {}}) == "slice j [y], all_gather i [x]");
  CHECK(path(p, matrix, {{{}, {}}, {x}}, {{{y}, {}}, {}}) == "slice i [y], all_reduce [x]");
}

TEST_CASE("a maximum is all-reduced whatever comes after") {
  const Program p = program_on({{"x", 2}}, {8, 16});
  const std::vector<Action> steps =
      conversion(p, matrix, Reduction::max, {{{}, {}}, {x}}, {{{x}, {}}, {}});
  REQUIRE(steps.size() == 2);
  CHECK(text(p, steps[0]) == "all_reduce [x]");
  CHECK(text(p, steps[1]) == "slice i [x]");
}

// ---- carried out
// ---------------------------------------------------------------------------------

// One value on all ranks, row-major in the dims of its type.
struct Shards {
  std::vector<std::vector<int64_t>> size, data;  // by rank
};

class Simulation {
 public:
  Simulation(const Program& p, const Type& type) : p_(p), type_(type), ranks_(p.mesh.ranks()) {}

  // The shards of `whole` in a layout; over partial axes the first rank holds what the others lack.
  Shards scatter(const std::vector<int64_t>& whole, const Layout& layout,
                 std::mt19937& random) const {
    Shards s;
    const std::vector<int64_t> size = local_sizes(p_, type_.shape, layout);
    for (int rank = 0; rank < ranks_; ++rank) {
      s.size.push_back(size);
      s.data.push_back(part(whole, layout, rank));
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      const int first = group(rank, layout.partial)[0];
      if (rank == first)
        continue;
      for (size_t n = 0; n < s.data[at(rank)].size(); ++n) {
        s.data[at(rank)][n] = static_cast<int64_t>(random() % 1000);
        s.data[at(first)][n] -= s.data[at(rank)][n];
      }
    }
    return s;
  }

  std::vector<int64_t> part(const std::vector<int64_t>& whole, const Layout& layout,
                            int rank) const {
    Value v{"", type_, layout, local_sizes(p_, type_.shape, layout), Storage::temporary, {}};
    const View view = view_of(p_, v, rank);
    std::vector<int64_t> out;
    each(view.size, [&](const std::vector<int64_t>& index) {
      int64_t n = 0;
      for (size_t d = 0; d < index.size(); ++d)
        n = n * view.whole[d] + view.origin[d] + index[d];
      out.push_back(whole[static_cast<size_t>(n)]);
    });
    return out;
  }

  Shards run(const Action& action, const Shards& from) const {
    Shards to = from;
    for (int rank = 0; rank < ranks_; ++rank)
      std::visit([&](const auto& a) { act(a, from, to, rank); }, action);
    return to;
  }

 private:
  static size_t at(int rank) { return static_cast<size_t>(rank); }
  size_t position(DimId d) const { return static_cast<size_t>(type_.shape.find(d)); }

  template <class F>
  static void each(const std::vector<int64_t>& size, F f) {
    std::vector<int64_t> index(size.size(), 0);
    while (true) {
      f(index);
      size_t d = size.size();
      while (d > 0 && ++index[d - 1] == size[d - 1])
        index[--d] = 0;
      if (d == 0)
        return;
    }
  }

  // The ranks that differ from `rank` along these axes only, by their position along them.
  std::vector<int> group(int rank, const AxisList& axes) const {
    std::map<int, int> by_position;
    const std::vector<int> own = p_.mesh.coordinates(rank);
    for (int other = 0; other < ranks_; ++other) {
      std::vector<int> theirs = p_.mesh.coordinates(other);
      for (AxisId a : axes)
        theirs[static_cast<size_t>(a.index)] = own[static_cast<size_t>(a.index)];
      if (theirs == own)
        by_position[p_.mesh.position(other, axes)] = other;
    }
    std::vector<int> out;
    for (const auto& [where, other] : by_position)
      out.push_back(other);
    return out;
  }

  // Piece r of p of a shard along a dim.
  std::vector<int64_t> piece(const std::vector<int64_t>& size, const std::vector<int64_t>& data,
                             size_t d, int64_t p, int64_t r) const {
    std::vector<int64_t> out;
    size_t n = 0;
    each(size, [&](const std::vector<int64_t>& index) {
      if (index[d] / (size[d] / p) == r)
        out.push_back(data[n]);
      ++n;
    });
    return out;
  }

  std::vector<int64_t> joined(const std::vector<std::vector<int64_t>>& pieces,
                              std::vector<int64_t> size, size_t d,
                              std::vector<int64_t>& whole_size) const {
    whole_size = size;
    whole_size[d] *= static_cast<int64_t>(pieces.size());
    std::vector<size_t> next(pieces.size(), 0);
    std::vector<int64_t> out;
    each(whole_size, [&](const std::vector<int64_t>& index) {
      const auto r = static_cast<size_t>(index[d] / size[d]);
      out.push_back(pieces[r][next[r]++]);
    });
    return out;
  }

  void act(const Compute&, const Shards&, Shards&, int) const {
    FAIL("a conversion computes nothing");
  }
  void act(const Shift&, const Shards&, Shards&, int) const { FAIL("a conversion shifts nothing"); }

  void act(const AllReduce& a, const Shards& from, Shards& to, int rank) const {
    std::vector<int64_t> sum(from.data[at(rank)].size(), 0);
    for (int other : group(rank, a.over))
      for (size_t n = 0; n < sum.size(); ++n)
        sum[n] += from.data[at(other)][n];
    to.data[at(rank)] = sum;
  }

  void act(const ReduceScatter& a, const Shards& from, Shards& to, int rank) const {
    act(AllReduce{a.over, Reduction::sum, a.algorithm}, from, to, rank);
    const AxisList major_first(a.over.rbegin(), a.over.rend());
    cut(a.dim, major_first, from.size[at(rank)], to, rank);
  }

  void act(const Slice& s, const Shards& from, Shards& to, int rank) const {
    cut(s.dim, {s.over}, from.size[at(rank)], to, rank);
  }

  void cut(DimId dim, const AxisList& axes, const std::vector<int64_t>& size, Shards& to,
           int rank) const {
    const int64_t p = p_.mesh.size(axes);
    to.data[at(rank)] =
        piece(size, to.data[at(rank)], position(dim), p, p_.mesh.position(rank, axes));
    to.size[at(rank)][position(dim)] /= p;
  }

  void act(const AllGather& a, const Shards& from, Shards& to, int rank) const {
    std::vector<std::vector<int64_t>> pieces;
    for (int other : group(rank, {a.over}))
      pieces.push_back(from.data[at(other)]);
    to.data[at(rank)] = joined(pieces, from.size[at(rank)], position(a.dim), to.size[at(rank)]);
  }

  void act(const AllToAll& a, const Shards& from, Shards& to, int rank) const {
    std::vector<std::vector<int64_t>> pieces;
    const int64_t p = p_.mesh.size(a.over);
    for (int other : group(rank, {a.over}))
      pieces.push_back(piece(from.size[at(other)], from.data[at(other)], position(a.split), p,
                             p_.mesh.position(rank, {a.over})));
    std::vector<int64_t> size = from.size[at(rank)];
    size[position(a.split)] /= p;
    to.data[at(rank)] = joined(pieces, size, position(a.concat), to.size[at(rank)]);
  }

  const Program& p_;
  const Type& type_;
  int ranks_;
};

// Every axis goes to one of the dims, to the partial sums, or nowhere.
Layout random_layout(std::mt19937& random, size_t axes, size_t dims, const AxisList& partial) {
  Layout layout{std::vector<AxisList>(dims), partial};
  AxisList order;
  for (size_t a = 0; a < axes; ++a)
    order.insert(order.begin() + static_cast<int64_t>(random() % (a + 1)),
                 AxisId{static_cast<int8_t>(a)});
  for (AxisId a : order)
    if (const size_t d = random() % (dims + 1);
        d < dims && std::count(partial.begin(), partial.end(), a) == 0)
      layout.split[d].push_back(a);
  return layout;
}

TEST_CASE("conversions carried out on numbers give the slices of the whole") {
  std::mt19937 random(7);
  for (const std::vector<Axis>& axes : {std::vector<Axis>{{"x", 2}, {"y", 2}},
                                        {{"x", 4}, {"y", 2}},
                                        {{"x", 2}, {"y", 2}, {"z", 2}},
                                        {{"x", 3}, {"y", 2}}}) {
    const Program p = program_on(axes, {24, 12, 24});
    const Type type{{{i, j, k}}, DType::f32};
    const Simulation simulation(p, type);
    std::vector<int64_t> whole(24 * 12 * 24);
    for (int64_t& value : whole)
      value = static_cast<int64_t>(random() % 1000);
    for (int trial = 0; trial < 60; ++trial) {
      AxisList partial;
      for (size_t a = 0; a < axes.size(); ++a)
        if (random() % 3 == 0)
          partial.insert(partial.begin() + static_cast<int64_t>(random() % (partial.size() + 1)),
                         AxisId{static_cast<int8_t>(a)});
      const Layout from = random_layout(random, axes.size(), 3, partial);
      const Layout to = random_layout(random, axes.size(), 3, {});
      if (local_sizes(p, type.shape, from)[1] * p.mesh.size(from.split[1]) != 12 ||
          local_sizes(p, type.shape, to)[1] * p.mesh.size(to.split[1]) != 12)
        continue;  // 12 is not divisible by 8
      Shards shards = simulation.scatter(whole, from, random);
      Layout layout = from;
      for (const Action& action : conversion(p, type, Reduction::sum, from, to)) {
        shards = simulation.run(action, shards);
        layout = apply(action, type.shape, layout);
        CHECK(shards.size[0] == local_sizes(p, type.shape, layout));
      }
      CHECK(layout == to);
      for (int rank = 0; rank < p.mesh.ranks(); ++rank)
        CHECK(shards.data[static_cast<size_t>(rank)] == simulation.part(whole, to, rank));
    }
  }
}

}  // namespace
}  // namespace mtf
