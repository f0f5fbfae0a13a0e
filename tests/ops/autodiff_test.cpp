// The order and the rounding of gradients, as docs/NUMERICS.md 3 fixes them.
#include <catch2/catch.hpp>

#include "ops/building.h"

using namespace mtf;
using namespace mtf::testing;
using Dims = std::vector<DimId>;

namespace {

NodeId total(Building& t, NodeId x) {
  return t.b.reduce_sum(x, t.b.shape(x).dims);
}

NodeId gradient(Building& t, NodeId sum, NodeId x) {
  return differentiate(t.b, sum, std::vector<NodeId>{x})[0];
}

std::string_view op(const Building& t, NodeId x) {
  return t.g[x].op->name;
}

// q, k and v of one x, each x.w over d; their sum of products is differentiated with respect to x.
struct Projections : Building {
  DimId rows = dim("rows", 3), d = dim("d", 8), heads = dim("heads", 4), key = dim("key", 64);
  NodeId x = parameter("x", {rows, d});
  NodeId projected(const std::string& name) {
    return b.add("einsum", {x, parameter(name, {d, heads, key})});
  }
};

}  // namespace

TEST_CASE("products for one value are added per block and folded once") {
  Projections t;
  NodeId q = t.projected("wq"), k = t.projected("wk"), v = t.projected("wv");
  NodeId dx = gradient(t, total(t, t.b.add("multiply", {t.b.add("multiply", {q, k}), v})), t.x);
  CHECK(op(t, dx) == "tree_sum");
  const Node& sum = t.g[t.g[dx].inputs[0]];
  CHECK(sum.op->name == "add");
  CHECK(t.g.show(sum.type.shape) == "[heads#4=4, rows=3, d=8]");
  // ((dq.wq + dk.wk) + dv.wv): in order of use.
  const Node& first = t.g[sum.inputs[0]];
  CHECK(first.op->name == "add");
  auto weight = [&](NodeId product) {
    CHECK(op(t, product) == "contract");
    return *t.g[t.g[product].inputs[1]].attrs.get<std::string>("name");
  };
  CHECK(weight(first.inputs[0]) == "wq");
  CHECK(weight(first.inputs[1]) == "wk");
  CHECK(weight(sum.inputs[1]) == "wv");
  CHECK(t.g[dx].gradient_of == t.x);
  CHECK(t.g[dx].phase == Phase::backward);
}

TEST_CASE("a later product takes the block count of the first") {
  Building t;
  DimId rows = t.dim("rows", 3), d = t.dim("d", 2), h = t.dim("h", 8), one = t.dim("one", 64),
        two = t.dim("two", 4);
  NodeId x = t.parameter("x", {rows, d});
  NodeId a = t.b.add("einsum", {x, t.parameter("wa", {d, h, one})});  // 512 terms: h#8
  NodeId c = t.b.add("einsum", {x, t.parameter("wc", {d, h, two})});  // 32 terms: no blocks
  NodeId e = t.b.add("einsum", {x, t.parameter("we", {d, h, t.dim("three", 8)})});  // 64: h#2
  NodeId loss = t.b.add("add", {total(t, a), total(t, c)});
  NodeId dx = gradient(t, t.b.add("add", {loss, total(t, e)}), x);
  // a and e per block of h#8, then c.
  CHECK(op(t, dx) == "add");
  CHECK(op(t, t.g[dx].inputs[0]) == "tree_sum");
  const Node& sum = t.g[t.g[t.g[dx].inputs[0]].inputs[0]];
  CHECK(sum.op->name == "add");
  CHECK(t.shown(sum.inputs[1]) == "[h#8=8, rows=3, d=2]");
  CHECK(op(t, t.g[dx].inputs[1]) == "contract");
}

TEST_CASE("a gradient passed on by an add is not added per block") {
  Projections t;
  NodeId q = t.projected("wq");
  NodeId y = t.b.add("exp", {t.x});
  NodeId z = t.b.add("add", {t.x, y});  // passes dz on to x
  NodeId p = t.b.add("einsum", {z, t.parameter("wz", {t.d, t.heads, t.key})});
  NodeId dx = gradient(t, total(t, t.b.add("multiply", {q, p})), t.x);
  // dq.wq, then dy exp(x), then dz: all reduced first.
  CHECK(op(t, dx) == "add");
  NodeId dz = t.g[dx].inputs[1];
  CHECK(op(t, dz) == "tree_sum");
  CHECK(t.g[dz].gradient_of == z);
  NodeId before = t.g[dx].inputs[0];
  CHECK(op(t, t.g[before].inputs[0]) == "tree_sum");
  CHECK(op(t, t.g[before].inputs[1]) == "multiply");
}

TEST_CASE("a tied table: products and lookups are reduced, then added in order of use") {
  Building t;
  DimId batch = t.dim("batch", 64), vocab = t.dim("vocab", 512), d = t.dim("d", 4);
  NodeId table = t.parameter("table", {vocab, d});
  NodeId ids = t.input("ids", {batch}, DType::i32);
  NodeId x = t.b.add("embedding", {table, ids}, {{{"over", vocab}}});
  NodeId logits = t.b.add("einsum", {x, table});
  NodeId dtable = gradient(t, total(t, t.b.add("square", {logits})), table);
  CHECK(op(t, dtable) == "add");
  NodeId lookups = t.g[dtable].inputs[0], products = t.g[dtable].inputs[1];
  CHECK(op(t, t.g[lookups].inputs[0]) == "scatter_blocks");
  CHECK(t.shown(t.g[lookups].inputs[0]) == "[batch#2=2, vocab=512, d=4]");
  CHECK(op(t, t.g[products].inputs[0]) == "contract");
}

TEST_CASE("in bf16 gradients of parameters stay f32 and those of activations are rounded once") {
  Building t;
  t.numerics.compute = DType::bf16;
  DimId batch = t.dim("batch", 4), d = t.dim("d", 8), e = t.dim("e", 6);
  NodeId w = t.parameter("w", {d, e}), bias = t.parameter("bias", {e});
  NodeId x = t.input("x", {batch, d}, DType::bf16);
  NodeId y = t.b.add("add", {t.b.add("einsum", {x, w}), bias});
  NodeId a = t.b.add("gelu", {y});
  CHECK(t.b.dtype(a) == DType::bf16);
  NodeId loss = t.b.add("mean_squared_error", {a, t.input("t", {batch, e})});
  REQUIRE(loss.index >= 0);
  auto gradients = differentiate(t.b, t.g.loss_sum, std::vector<NodeId>{w, bias});
  CHECK(t.b.dtype(gradients[0]) == DType::f32);
  CHECK(t.b.dtype(gradients[1]) == DType::f32);
  for (const Node& n : t.g.nodes)
    if (n.gradient_of == a || n.gradient_of == y)
      CHECK(n.type.dtype == DType::bf16);
  CHECK(t.g[gradients[1]].op->name != "cast");  // f32 all the way from the sum over the batch
}

TEST_CASE("no gradient flows through stop_gradient, ids or comparisons") {
  Building t;
  DimId d = t.dim("d", 4);
  NodeId x = t.parameter("x", {d}), y = t.parameter("y", {d}), z = t.parameter("z", {d});
  NodeId stopped = t.b.add("stop_gradient", {y});
  NodeId sum = total(t, t.b.add("multiply", {x, stopped}));
  auto gradients = differentiate(t.b, sum, std::vector<NodeId>{x, y, z});
  CHECK(gradients[0].index >= 0);
  CHECK(gradients[1].index == -1);
  CHECK(gradients[2].index == -1);
  CHECK(t.values(gradients[0], {{"x", {1, 2, 3, 4}}, {"y", {5, 6, 7, 8}}, {"z", {0, 0, 0, 0}}}) ==
        std::vector<double>{5, 6, 7, 8});
}

TEST_CASE("gradient nodes carry the path of their step and nothing is made for data") {
  Building t;
  DimId batch = t.dim("batch", 2), d = t.dim("d", 4), e = t.dim("e", 3);
  NodeId image = t.input("image", {batch, d}), w = t.parameter("w", {d, e});
  t.b.origin.scope = "layer/up";
  NodeId y = t.b.add("einsum", {image, w});
  t.b.origin.scope = "loss";
  NodeId sum = total(t, y);
  t.b.origin.scope = "after";
  NodeId dw = gradient(t, sum, w);
  CHECK(t.g[dw].origin.scope == "layer/up");
  CHECK(t.b.origin.scope == "after");
  CHECK(t.b.phase == Phase::forward);
  int products = 0;
  for (const Node& n : t.g.nodes)
    products += n.op->name == "contract";
  CHECK(products == 2);  // the forward and dw, none for the image
}

TEST_CASE("the gradient of a maximum goes to the lowest index among ties") {
  Building t;
  DimId d = t.dim("d", 4);
  NodeId x = t.parameter("x", {d});
  NodeId m = t.b.add("reduce_max", {x}, {{{"over", Dims{d}}}});
  CHECK(t.values(gradient(t, m, x), {{"x", {1, 3, 3, 2}}}) == std::vector<double>{0, 1, 0, 0});
}
