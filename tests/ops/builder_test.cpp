// What the builder makes of ops, and what it says of mistakes.
#include <catch2/catch.hpp>

#include "ops/building.h"

using namespace mtf;
using namespace mtf::testing;
using Dims = std::vector<DimId>;

TEST_CASE("einsum: a product in blocks, its tree, and the dims that stand in one operand") {
  Building t;
  DimId batch = t.dim("batch", 4), in = t.dim("in", 512), out = t.dim("out", 3);
  NodeId x = t.input("x", {batch, in}), w = t.parameter("w", {in, out});
  NodeId y = t.b.add("einsum", {x, w});
  CHECK(t.shown(y) == "[batch=4, out=3]");
  CHECK(print(t.g) ==
        "%0 = input() name=x : f32[batch=4, in=512]\n"
        "%1 = parameter() name=w : f32[in=512, out=3]\n"
        "%2 = contract(%0, %1) over=[in] to=[batch, out] blocks=[in: in#8] : "
        "f32[in#8=8, batch=4, out=3]\n"
        "%3 = tree_sum(%2) over=[in#8] : f32[batch=4, out=3]\n");
  REQUIRE(t.g.composites.size() == 1);
  CHECK(t.g.composites[0].result == y);
  CHECK(t.g[y].composite == 0);
}

TEST_CASE("einsum folds the innermost block dim first") {
  Building t;
  DimId batch = t.dim("batch", 2), length = t.dim("length", 1024), d = t.dim("d", 3);
  NodeId x = t.input("x", {batch, length, d}), y = t.input("y", {length, batch});
  NodeId z = t.b.add("einsum", {x, y});
  const Node& outer = t.g[z];
  const Node& inner = t.g[outer.inputs[0]];
  CHECK(t.g[(*outer.attrs.get<Dims>("over"))[0]].name == "batch#2");
  CHECK(t.g[(*inner.attrs.get<Dims>("over"))[0]].name == "length#4");
  CHECK(t.shown(inner.inputs[0]) == "[batch#2=2, length#4=4, d=3]");
  CHECK(inner.op->role(t.g, inner, (*inner.attrs.get<Dims>("over"))[0]) == Role::reduced);
  CHECK(outer.op->role(t.g, outer, d) == Role::kept);
}

TEST_CASE("einsum in bf16 rounds operands first and the f32 sum after") {
  Building t;
  t.numerics.compute = DType::bf16;
  DimId in = t.dim("in", 4), out = t.dim("out", 3);
  NodeId y = t.b.add("einsum", {t.input("x", {in}), t.parameter("w", {in, out})});
  CHECK(print(t.g) ==
        "%0 = input() name=x : f32[in=4]\n"
        "%1 = parameter() name=w : f32[in=4, out=3]\n"
        "%2 = cast(%0) dtype=bf16 : bf16[in=4]\n"
        "%3 = cast(%1) dtype=bf16 : bf16[in=4, out=3]\n"
        "%4 = contract(%2, %3) over=[in] to=[out] blocks=[] : f32[out=3]\n"
        "%5 = cast(%4) dtype=bf16 : bf16[out=3]\n");
  CHECK(t.b.dtype(y) == DType::bf16);
}

TEST_CASE("einsum warns when it sums the batch away by default") {
  Building t;
  DimId batch = t.b.batch = t.dim("batch", 4), d = t.dim("d", 3);
  NodeId x = t.input("x", {batch, d}), y = t.input("y", {batch});
  t.b.add("einsum", {x, y}, {{{"to", Dims{d}}}});
  CHECK(t.diagnostics.all().empty());
  t.b.add("einsum", {x, y});
  REQUIRE(t.diagnostics.all().size() == 1);
  CHECK(t.diagnostics.all()[0].code == Code::model_batch_summed);
  CHECK_FALSE(t.diagnostics.has_errors());
}

TEST_CASE("elementwise results have the dims of the operand that has them all") {
  Building t;
  DimId a = t.dim("a", 2), c = t.dim("c", 3), d = t.dim("d", 4);
  NodeId ac = t.input("ac", {a, c}), ca = t.input("ca", {c, a}), cd = t.input("cd", {c, d});
  NodeId one = t.input("one", {c});
  CHECK(t.shown(t.b.add("add", {one, ac})) == "[a=2, c=3]");
  CHECK(t.shown(t.b.add("add", {ca, ac})) == "[c=3, a=2]");
  CHECK(t.shown(t.b.add("add", {ac, cd})) == "[a=2, c=3, d=4]");
  CHECK(t.b.dtype(t.b.add("less", {ac, one})) == DType::boolean);
}

TEST_CASE("next to a bf16 operand a parameter is read in bf16, other f32 values widen") {
  Building t;
  t.numerics.compute = DType::bf16;
  DimId a = t.dim("a", 2);
  NodeId x = t.input("x", {a}, DType::bf16);
  CHECK(t.b.dtype(t.b.add("add", {x, t.parameter("w", {a})})) == DType::bf16);
  CHECK(t.b.dtype(t.b.add("add", {x, t.input("y", {a})})) == DType::f32);
}

TEST_CASE("mistakes are told with names and sizes, once") {
  Building t;
  DimId batch = t.dim("batch", 16), vocab = t.dim("vocab", 10), other = t.dim("other", 7);
  NodeId x = t.input("x", {batch, vocab}), ids = t.input("ids", {batch}, DType::i32);
  auto says = [&](NodeId node, const std::string& message) {
    CHECK(node.index == -1);
    REQUIRE_FALSE(t.diagnostics.all().empty());
    CHECK(t.diagnostics.all().back().message == message);
  };
  says(t.b.add("softmax", {x}, {{{"over", Dims{other}}}}),
       "softmax: the operand [batch=16, vocab=10] has no dim 'other'");
  says(t.b.add("softmax", {x}), "softmax: the attribute 'over' is missing");
  says(t.b.add("add", {x}), "add: takes 2 operands, not 1");
  says(t.b.add("layer_norm", {x, x, x, x}, {{{"over", Dims{vocab}}}}),
       "layer_norm: takes 1 to 3 operands, not 4");
  says(t.b.add("add", {x, ids}),
       "add: the operands f32 [batch=16, vocab=10] and i32 [batch=16] differ in dtype");
  says(t.b.add("exp", {ids}), "exp: takes floating point operands, not i32");
  says(t.b.add("einsum", {x, ids}),
       "einsum: operands must be floating point; one is i32 [batch=16]");
  says(t.b.add("einsum", {x, x}, {{{"to", Dims{other}}}}),
       "einsum: no operand has the dim 'other' of the result");
  says(t.b.add("rename", {x}, {{{"dims", DimPairs{{vocab, other}}}}}),
       "rename: vocab=10 and other=7 differ in size");
  says(t.b.add("reshape", {x}, {{{"from", Dims{vocab}}, {"to", Dims{other}}}}),
       "reshape: [vocab=10] has 10 elements, [other=7] has 7");
  says(t.b.add("gather", {x, x}, {{{"over", vocab}}}),
       "gather: indices must be i32, not f32 [batch=16, vocab=10]");
  says(t.b.add("slice", {x}, {{{"over", other}, {"to", vocab}}}),
       "slice: the operand [batch=16, vocab=10] has no dim 'other'");
  size_t before = t.diagnostics.all().size();
  NodeId failed = t.b.add("exp", {ids});
  CHECK(t.b.add("add", {failed, x}).index == -1);
  CHECK(t.diagnostics.all().size() == before);
}

TEST_CASE("labels must fit the logits") {
  Building t;
  DimId batch = t.dim("batch", 16), vocab = t.dim("vocab", 10);
  NodeId logits = t.input("logits", {batch, vocab}), labels = t.input("labels", {}, DType::i32);
  CHECK(t.b.add("cross_entropy", {logits, labels}, {{{"over", vocab}}}).index == -1);
  CHECK(t.message() == "cross_entropy: logits [batch=16, vocab=10] need labels [batch=16], not []");
}

TEST_CASE("an op that changes nothing leaves no composite behind") {
  Building t;
  NodeId x = t.parameter("x", {t.dim("a", 2)});
  t.b.training = false;
  CHECK(t.b.add("dropout", {x}, {{{"rate", 0.5}}}) == x);
  CHECK(t.g.composites.back().result.index == -1);
}

TEST_CASE("parts carry the outermost composite") {
  Building t;
  DimId batch = t.dim("batch", 2), vocab = t.dim("vocab", 3);
  NodeId logits = t.parameter("logits", {batch, vocab});
  NodeId labels = t.input("labels", {batch}, DType::i32);
  NodeId loss = t.b.add("cross_entropy", {logits, labels}, {{{"over", vocab}}});
  CHECK(t.g.composites[0].op->name == "cross_entropy");
  for (size_t i = 2; i < t.g.nodes.size(); ++i)
    CHECK(t.g.nodes[i].composite == 0);
  CHECK(t.g[loss].inputs == std::vector<NodeId>{t.g.loss_sum, t.g.loss_count});
  CHECK(t.g.composites[0].saved == std::vector<NodeId>{t.g.loss_sum, t.g.loss_count});
}
