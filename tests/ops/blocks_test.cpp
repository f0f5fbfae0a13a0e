// Block counts worked by hand from docs/NUMERICS.md 2.
#include "ops/blocks.h"

#include <catch2/catch.hpp>

using namespace mtf;

namespace {

using Counts = std::vector<int64_t>;

Counts product(Counts sizes, Counts fixed = {}, int64_t usual = 8) {
  fixed.resize(sizes.size(), 0);
  return product_blocks(sizes, fixed, usual);
}
Counts sum(Counts sizes, Counts fixed = {}, int64_t usual = 8) {
  fixed.resize(sizes.size(), 0);
  return sum_blocks(sizes, fixed, usual);
}

}  // namespace

TEST_CASE("a product cuts its outermost dim into 8 blocks or more") {
  CHECK(product({512}) == Counts{8});       // leaf 64
  CHECK(product({2048}) == Counts{8});      // leaf 256
  CHECK(product({2049 * 8}) == Counts{8});  // wants 128 blocks, 8 is all that divides
  CHECK(product({4096}) == Counts{16});     // leaf 256
  CHECK(product({65536}) == Counts{256});   // leaf 256
  CHECK(product({12288}) == Counts{64});    // leaf 192: 32 blocks would leave 384
}

TEST_CASE("a product's leaf has 32 terms or more") {
  CHECK(product({256}) == Counts{8});  // leaf 32
  CHECK(product({128}) == Counts{4});  // leaf 32
  CHECK(product({64}) == Counts{2});
  CHECK(product({63}) == Counts{1});
  CHECK(product({32}) == Counts{1});
  CHECK(product({7}) == Counts{1});
}

TEST_CASE("a product's block count divides the dim") {
  CHECK(product({768}) == Counts{8});      // leaf 96
  CHECK(product({100}) == Counts{2});      // 8 does not divide; 4 leaves 25
  CHECK(product({1000}) == Counts{8});     // leaf 125
  CHECK(product({3000}) == Counts{8});     // wants 16 (leaf 187), which does not divide
  CHECK(product({50257}) == Counts{1});    // odd
  CHECK(product({50304}) == Counts{128});  // 50304 = 128 * 393: wants 256, which does not divide
}

TEST_CASE("the leaf is over all summed dims") {
  CHECK(product({16, 128}) == Counts{8, 1});   // batch x length: leaf 256
  CHECK(product({16, 256}) == Counts{16, 1});  // leaf 256
  CHECK(product({12, 64}) == Counts{4, 1});    // 12 heads have 4 blocks: leaf 192
  CHECK(product({12, 5}) == Counts{1, 1});     // 60 terms: two blocks would leave 30
  CHECK(product({12, 6}) == Counts{2, 1});     // 72 terms: leaf 36
  CHECK(product({4, 32}) == Counts{4, 1});     // leaf 32
}

TEST_CASE("the second dim is cut when the first is cut whole and the leaf is still long") {
  CHECK(product({16, 1024}) == Counts{16, 4});  // leaf 1024 -> 256
  CHECK(product({2, 512}) == Counts{2, 2});     // 1024 terms: leaf 512 -> 256
  CHECK(product({1, 512}) == Counts{1, 2});     // a dim of size 1 is cut whole
  CHECK(product({1, 256}) == Counts{1, 1});
  CHECK(product({3, 4096}) == Counts{1, 1});        // 3 is not cut at all, so not whole
  CHECK(product({2, 515}) == Counts{2, 1});         // odd
  CHECK(product({2, 2, 1024}) == Counts{2, 2, 1});  // never a third
  CHECK(product({8, 64, 64}) == Counts{8, 16, 1});
}

TEST_CASE("numerics.blocks wins") {
  CHECK(product({512}, {4}) == Counts{4});
  CHECK(product({512}, {1}) == Counts{1});
  CHECK(product({96}, {3}) == Counts{3});
  CHECK(product({16, 128}, {0, 8}) == Counts{8, 8});  // 16 terms of length are left: 256, leaf 32
  CHECK(product({16, 1024}, {16, 2}) == Counts{16, 2});
  CHECK(product({4096}, {}, 32) == Counts{32});
  CHECK(product({4096}, {}, 12) == Counts{16});  // the next power of two
}

TEST_CASE("other sums cut every dim into the largest power of two up to 8") {
  CHECK(sum({128}) == Counts{8});
  CHECK(sum({12}) == Counts{4});
  CHECK(sum({6, 5, 16}) == Counts{2, 1, 8});
  CHECK(sum({12, 128}, {3}) == Counts{3, 8});
  CHECK(sum({64}, {}, 32) == Counts{32});
  CHECK(sum({}) == Counts{});
}

TEST_CASE("block dims are named after their dim and follow its rule") {
  Graph g;
  Numerics numerics;
  Diagnostics diagnostics;
  Builder b(g, numerics, diagnostics);
  DimId batch = g.add_dim({"batch", 16, {}, {}}), length = g.add_dim({"length", 128, {}, {}});
  DimPairs blocks = product_blocks(b, std::vector<DimId>{batch, length});
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].first == batch);
  const Dim& block = g[blocks[0].second];
  CHECK(block.name == "batch#8");
  CHECK(block.size == 8);
  CHECK(block.rule == "batch");
  CHECK(block.block_of == batch);
  CHECK(g.block_dim(batch, 8) == blocks[0].second);
}

TEST_CASE("a count in numerics.blocks must divide its dim") {
  Graph g;
  Numerics numerics;
  numerics.blocks_of["length"] = {8, {}};
  Diagnostics diagnostics;
  Builder b(g, numerics, diagnostics);
  DimId length = g.add_dim({"length", 100, {}, {}});
  CHECK(sum_blocks(b, std::vector<DimId>{length}).size() == 1);  // as if no count were given
  product_blocks(b, std::vector<DimId>{length});
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].message == "8 blocks of 'length', but 8 does not divide length=100");
  CHECK(diagnostics.all()[0].help.text == "1, 2, 4, 5, 10, 20, 25, 50 and 100 blocks would do");
}
