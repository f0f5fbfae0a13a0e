// Grows a model step by step: a list of values with their dims, and a step drawn from those that
// the newest value allows. Sizes stay small, so that hundreds of models train in a minute.
#include "random_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace mtf {
namespace {

// SplitMix64 (Steele et al. 2014): the same numbers everywhere, unlike the standard distributions.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& from(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  uint64_t state_;
};

using Names = std::vector<std::string>;

struct Tensor {
  std::string name;
  Names dims;
};

bool has(const Names& list, const std::string& name) {
  return std::count(list.begin(), list.end(), name) > 0;
}

Names without(Names list, const std::string& name) {
  list.erase(std::remove(list.begin(), list.end(), name), list.end());
  return list;
}

Names replaced(Names list, const std::string& from, const std::string& to) {
  std::replace(list.begin(), list.end(), from, to);
  return list;
}

std::string listed(const Names& names) {
  return fmt::format("[{}]", fmt::join(names, ", "));
}

class Grower {
 public:
  explicit Grower(uint64_t seed) : random_(seed) {}

  RandomModel grow(int layouts) {
    start();
    const int steps = 3 + random_.below(6);
    for (int i = 0; i < steps; ++i)
      step();
    if (random_.chance(25))
      repeat_block();
    finish();
    RandomModel model{text(), {}, {}};
    for (int i = 0; i < layouts; ++i)
      model.layouts.push_back(layout());
    for (const DimSize& d : dims_)  // multiples of 8, as `numerics.blocks` may ask for
      if (random_.chance(40) && d.of_batch.empty())
        model.padding.push_back(fmt::format("dims.{}={{size: {}, pad: {}}}", d.name, d.size,
                                            random_.from(std::vector<int>{8, 16, 24, 40})));
    return model;
  }

 private:
  // ---- dims, parameters, steps ---------------------------------------------------------------
  struct DimSize {
    std::string name;
    int64_t size;
    std::string of_batch = {};  // the expression of one that goes with the batch
  };

  int64_t size(const std::string& name) const {
    for (const DimSize& d : dims_)
      if (d.name == name)
        return d.size;
    return 1;
  }

  std::string add_dim(const std::string& name, int64_t size) {
    dims_.push_back({name, size});
    return name;
  }

  std::string new_dim(int64_t wanted) {
    const std::string name = static_cast<char>('a' + letters_ % 26) + std::to_string(letters_);
    ++letters_;
    return add_dim(name, wanted);
  }

  // A dim that `used` lacks: an old one that may be made anew by a product, or a new one.
  std::string other_dim(const Names& used) {
    Names old;
    for (const std::string& d : features_)
      if (!has(used, d))
        old.push_back(d);
    if (!old.empty() && random_.chance(60))
      return random_.from(old);
    features_.push_back(new_dim(random_.from(sizes)));
    return features_.back();
  }

  int64_t elements(const Names& dims) const {
    int64_t n = 1;
    for (const std::string& d : dims)
      n *= size(d);
    return n;
  }

  // A new parameter, or now and then an old one of these dims: then the two uses are tied.
  std::string parameter(const Names& dims, const std::string& init = {}) {
    for (const Tensor& p : parameters_)
      if (p.dims == dims && init.empty() && random_.chance(50))
        return p.name;
    const std::string name = "p" + std::to_string(parameters_.size());
    parameters_.push_back({name, dims});
    params_ += init.empty()
                   ? fmt::format("    {}: {}\n", name, listed(dims))
                   : fmt::format("    {}: {{dims: {}, init: {}}}\n", name, listed(dims), init);
    return name;
  }

  std::string emit(const std::string& body) {
    const std::string name = "s" + std::to_string(count_++);
    steps_ += fmt::format("    - {}: {{{}}}\n", name, body);
    return name;
  }

  void made(const std::string& body, Names dims) {
    values_.push_back({emit(body), std::move(dims)});
  }
  // `body` has one {} for the operand's name.
  void apply(const std::string& before, const Tensor& x, const std::string& after, Names dims) {
    made(before + x.name + after, std::move(dims));
  }

  const Tensor& newest() const { return values_.back(); }
  Names inner(const Tensor& x) const { return without(x.dims, "batch"); }

  // A parameter as a product reads it: now and then under other names or with its dims reordered.
  std::string weights(const Names& dims) {
    if (dims.size() < 2 || random_.chance(85))
      return parameter(dims);
    if (random_.chance(50)) {
      Names reversed(dims.rbegin(), dims.rend());
      const std::string p = parameter(reversed);
      return emit(fmt::format("transpose: {}, to: {}", p, listed(dims)));
    }
    Names other = dims;
    other[0] = new_dim(size(dims[0]));
    const std::string p = parameter(other);
    return emit(fmt::format("rename: {}, dims: {{{}: {}}}", p, other[0], dims[0]));
  }

  // ---- the model ---------------------------------------------------------------------------
  void start() {
    add_dim("batch", random_.from(std::vector<int64_t>{8, 8, 16, 16, 12, 32}));
    const bool sequence = random_.chance(65);
    if (sequence)
      add_dim("length", random_.from(std::vector<int64_t>{8, 8, 16, 12}));
    features_ = {new_dim(random_.from(sizes))};
    Names dims = sequence ? Names{"batch", "length"} : Names{"batch"};
    if (random_.chance(45)) {
      add_dim("vocab", random_.from(std::vector<int64_t>{16, 24, 60, 32}));
      input("ids", dims, "i32", "{uniform: vocab}");
      const std::string table = parameter({"vocab", features_[0]}, "{normal: 0.5}");
      dims.push_back(features_[0]);
      made(fmt::format("embedding: [{}, ids], over: vocab", table), dims);
    } else {
      dims.push_back(features_[0]);
      input("x", dims, "", "{normal: 1.0}");
      values_.push_back({"x", dims});
    }
  }

  void input(const std::string& name, const Names& dims, const std::string& dtype,
             const std::string& data) {
    inputs_ += fmt::format("    {}: {{dims: {}{}}}\n", name, listed(dims),
                           dtype.empty() ? "" : ", dtype: " + dtype);
    data_.push_back(name + ": " + data);
  }

  void step() {
    using Step = void (Grower::*)();
    static const std::vector<Step> kinds = {
        &Grower::dense,      &Grower::dense,     &Grower::dense,     &Grower::wide,
        &Grower::chain,      &Grower::affine,    &Grower::affine,    &Grower::activation,
        &Grower::activation, &Grower::norm,      &Grower::norm,      &Grower::softmax,
        &Grower::residual,   &Grower::residual,  &Grower::attention, &Grower::attention,
        &Grower::reshape,    &Grower::transpose, &Grower::concat,    &Grower::slice,
        &Grower::pad,        &Grower::shift,     &Grower::reduce,    &Grower::dropout,
        &Grower::cumsum};
    (this->*random_.from(kinds))();
    if (elements(newest().dims) > 16384)
      shrink();
  }

  void shrink() {
    const Tensor x = newest();
    const std::string over = inner(x).back();
    apply("reduce_mean: ", x, ", over: " + over, without(x.dims, over));
    if (inner(newest()).empty())
      widen();
  }

  // [batch] -> [batch, d]
  void widen() {
    const Tensor x = newest();
    const std::string to = other_dim(x.dims);
    Names dims = x.dims;
    dims.push_back(to);
    apply("multiply: [", x, ", " + parameter({to}, "{normal: 1.0}") + "]", dims);
  }

  void dense() {
    const Tensor x = newest();
    Names summed = {random_.from(inner(x))};
    if (inner(x).size() > 1 && random_.chance(25))
      summed = {inner(x)[0], inner(x)[1]};
    const std::string to = other_dim(x.dims);
    Names dims = x.dims, shape = summed;
    for (const std::string& d : summed)
      dims = without(dims, d);
    dims.push_back(to);
    shape.insert(shape.begin() + random_.below(static_cast<int>(shape.size()) + 1), to);
    apply("einsum: [", x, ", " + weights(shape) + "]", dims);
  }

  // One dim to two, as heads are made.
  void wide() {
    const Tensor x = newest();
    const std::string from = random_.from(inner(x));
    const std::string major = other_dim(x.dims);
    const std::string minor = new_dim(random_.from(std::vector<int64_t>{4, 8, 6}));
    Names dims = without(x.dims, from);
    dims.insert(dims.end(), {major, minor});
    if (elements(dims) <= 32768)
      apply("einsum: [", x, ", " + weights({from, major, minor}) + "]", dims);
  }

  void chain() {
    const Tensor x = newest();
    const std::string from = random_.from(inner(x));
    const std::string middle = other_dim(x.dims);
    Names used = x.dims;
    used.push_back(middle);
    const std::string to = other_dim(used);
    Names dims = without(x.dims, from);
    dims.push_back(to);
    const std::string a = parameter({from, middle});
    const std::string b = parameter({middle, to});
    apply("einsum: [", x, fmt::format(", {}, {}], to: {}", a, b, listed(dims)), dims);
  }

  void affine() {
    const Tensor x = newest();
    Names dims;
    for (const std::string& d : inner(x))
      if (dims.empty() || random_.chance(40))
        dims.push_back(d);
    if (random_.chance(30))
      std::reverse(dims.begin(), dims.end());
    const bool add = random_.chance(60);
    const std::string p = parameter(dims, add ? "{normal: 0.3}" : "{constant: 1}");
    apply(add ? "add: [" : "multiply: [", x, ", " + p + "]", x.dims);
  }

  void activation() {
    const Tensor x = newest();
    apply(random_.from(Names{"gelu", "relu", "tanh", "sigmoid", "silu", "gelu_tanh"}) + ": ", x, "",
          x.dims);
  }

  void norm() {
    const Tensor x = newest();
    Names over = {random_.from(inner(x))};
    if (inner(x).size() > 1 && random_.chance(20))
      over = {inner(x)[0], inner(x)[1]};
    const std::string scale = parameter(over, "{constant: 1}");
    if (random_.chance(60))
      apply("rms_norm: [", x, fmt::format(", {}], over: {}", scale, listed(over)), x.dims);
    else
      apply(
          "layer_norm: [", x,
          fmt::format(", {}, {}], over: {}", scale, parameter(over, "{constant: 0}"), listed(over)),
          x.dims);
  }

  void softmax() {
    const Tensor x = newest();
    const std::string over = random_.from(inner(x));
    apply(random_.from(Names{"softmax: ", "log_softmax: "}), x, ", over: " + over, x.dims);
  }

  // Adds or multiplies an older value whose dims the newest has.
  void residual() {
    const Tensor x = newest();
    std::vector<Tensor> fit;
    for (const Tensor& v : values_)
      if (v.name != x.name &&
          std::all_of(v.dims.begin(), v.dims.end(), [&](auto& d) { return has(x.dims, d); }))
        fit.push_back(v);
    if (fit.empty())
      return activation();
    const std::string other = random_.from(fit).name;
    apply(random_.chance(70) ? "add: [" : "multiply: [", x, ", " + other + "]", x.dims);
  }

  void attention() {
    const Tensor x = newest();
    if (!has(x.dims, "length") || inner(x).size() < 2)
      return dense();
    if (!has_memory_)
      add_dim("memory", size("length"));
    has_memory_ = true;
    const std::string from = without(inner(x), "length").back();
    const bool grouped = random_.chance(40);
    const std::string heads = new_dim(random_.from(std::vector<int64_t>{2, 4, 8, 6}));
    const std::string key = new_dim(8);
    Names query = {from, heads};
    if (grouped)
      query.push_back(new_dim(random_.from(std::vector<int64_t>{2, 4})));
    query.push_back(key);
    const std::string q = emit(fmt::format("einsum: [{}, {}]", x.name, parameter(query)));
    Names memory;
    for (int i = 0; i < 2; ++i) {
      const std::string here =
          emit(fmt::format("einsum: [{}, {}]", x.name, parameter({from, heads, key})));
      memory.push_back(emit(fmt::format("rename: {}, dims: {{length: memory}}", here)));
    }
    const std::string mixed =
        emit(fmt::format("attention: [{}, {}, {}], rows: length, over: memory, key: {}{}", q,
                         memory[0], memory[1], key, random_.chance(60) ? ", causal: true" : ""));
    Names back(query.begin() + 1, query.end());
    back.push_back(from);
    Names dims = without(x.dims, from);
    dims.push_back(from);
    made(fmt::format("einsum: [{}, {}], to: {}", mixed, parameter(back), listed(dims)), dims);
  }

  // The batch and a neighbour as one dim, and back.
  void flatten(const Tensor& x, const Names& pair) {
    const std::string to = new_dim(elements(pair));
    dims_.back().of_batch = fmt::format("{} * {}", pair[0], pair[1]);
    Names dims = x.dims;
    dims.resize(dims.size() - 2);
    dims.push_back(to);
    apply("reshape: ", x, fmt::format(", from: {}, to: [{}]", listed(pair), to), dims);
    activation();
    apply("reshape: ", Tensor(newest()), fmt::format(", from: [{}], to: {}", to, listed(pair)),
          x.dims);
  }

  // Two neighbours become one, or one becomes two.
  void reshape() {
    const Tensor x = newest();
    Names dims = x.dims;
    if (inner(x).size() > 1 && random_.chance(50)) {
      const size_t at = dims.size() - 2;
      const Names pair = {dims[at], dims[at + 1]};
      if (has(pair, "batch"))
        return flatten(x, pair);
      const std::string to = new_dim(size(dims[at]) * size(dims[at + 1]));
      const std::string from = listed(pair);
      dims.resize(at);
      dims.push_back(to);
      return apply("reshape: ", x, fmt::format(", from: {}, to: [{}]", from, to), dims);
    }
    const std::string from = inner(x).back();
    if (size(from) % 2 != 0)
      return activation();
    const int64_t minor = size(from) % 4 == 0 ? 4 : 2;
    const std::string major_dim = new_dim(size(from) / minor);
    const std::string minor_dim = new_dim(minor);
    dims.erase(std::find(dims.begin(), dims.end(), from));
    dims.insert(dims.begin() + (std::find(x.dims.begin(), x.dims.end(), from) - x.dims.begin()),
                {major_dim, minor_dim});
    apply("reshape: ", x, fmt::format(", from: [{}], to: [{}, {}]", from, major_dim, minor_dim),
          dims);
  }

  void transpose() {
    const Tensor x = newest();
    Names dims = x.dims;
    for (size_t i = dims.size(); i-- > 1;)
      std::swap(dims[i], dims[static_cast<size_t>(random_.below(static_cast<int>(i) + 1))]);
    apply("transpose: ", x, ", to: " + listed(dims), dims);
  }

  void concat() {
    const Tensor x = newest();
    const std::string over = random_.from(inner(x));
    const std::string gate = emit(fmt::format("tanh: {}", x.name));
    const std::string to = new_dim(2 * size(over));
    made(fmt::format("concat: [{}, {}], over: [{}, {}], to: {}", x.name, gate, over, over, to),
         replaced(x.dims, over, to));
  }

  void slice() {
    const Tensor x = newest();
    const std::string over =
        without(inner(x), "length").empty() ? "length" : without(inner(x), "length").back();
    const std::string to = new_dim(std::max<int64_t>(2, size(over) / 2));
    const int start = random_.below(static_cast<int>(size(over) - size(to)) + 1);
    apply("slice: ", x, fmt::format(", over: {}, to: {}, start: {}", over, to, start),
          replaced(x.dims, over, to));
  }

  void pad() {
    const Tensor x = newest();
    const std::string over =
        without(inner(x), "length").empty() ? "length" : without(inner(x), "length").back();
    const std::string to = new_dim(size(over) + 4);
    apply("pad: ", x, fmt::format(", over: {}, to: {}, before: {}", over, to, random_.below(5)),
          replaced(x.dims, over, to));
  }

  void shift() {
    const Tensor x = newest();
    const std::string over = random_.from(inner(x));
    const int offset = random_.from(std::vector<int>{1, -1, 2});
    apply("shift: ", x,
          fmt::format(", over: {}, offset: {}{}", over, offset,
                      random_.chance(40) ? ", wrap: true" : ""),
          x.dims);
  }

  void reduce() {
    const Tensor x = newest();
    if (inner(x).size() < 2)
      return activation();
    const std::string over = random_.from(inner(x));
    apply(random_.from(Names{"reduce_mean: ", "reduce_max: ", "reduce_sum: ", "logsumexp: "}), x,
          ", over: " + over, without(x.dims, over));
  }

  void dropout() { apply("dropout: ", Tensor(newest()), ", rate: 0.2", Names(newest().dims)); }

  void cumsum() {
    const Tensor x = newest();
    apply("cumsum: ", x, ", over: " + random_.from(inner(x)), x.dims);
  }

  // A residual block with its own parameters, twice or three times.
  void repeat_block() {
    const Tensor x = newest();
    const std::string from = inner(x).back();
    const std::string hidden = other_dim(x.dims);
    blocks_ = fmt::format(
        "  blocks:\n    residual:\n      takes: v\n      params: {{w1: [{0}, {1}], w2: [{1}, {0}], "
        "scale: {{dims: "
        "[{0}], init: {{constant: 1}}}}}}\n      steps:\n        - normal: {{rms_norm: [v, scale], "
        "over: {0}}}\n"
        "        - up: {{einsum: [normal, w1]}}\n        - active: {{gelu: up}}\n        - down: "
        "{{einsum: [active, "
        "w2]}}\n        - out: {{add: [v, down]}}\n      gives: out\n",
        from, hidden);
    apply(fmt::format("repeat: residual, times: {}, from: ", 2 + random_.below(2)), x, "", x.dims);
  }

  void finish() {
    if (inner(newest()).empty())
      widen();
    const Tensor x = newest();
    if (random_.chance(45)) {
      const std::string over = random_.from(inner(x));
      input("label", without(x.dims, over), "i32", fmt::format("{{uniform: {}}}", over));
      steps_ += fmt::format("    - loss: {{cross_entropy: [{}, label], over: {}}}\n", x.name, over);
      return;
    }
    input("target", x.dims, "", "{normal: 1.0}");
    steps_ += fmt::format("    - loss: {{mean_squared_error: [{}, target]}}\n", x.name);
  }

  // ---- text --------------------------------------------------------------------------------
  std::string text() {
    Names sizes_text, blocks;
    const bool cut = random_.chance(75), micro = random_.chance(30);
    for (const DimSize& d : dims_) {
      const bool whole = d.name != "batch" && d.of_batch.empty();
      sizes_text.push_back(
          fmt::format("{}: {}", d.name, d.of_batch.empty() ? std::to_string(d.size) : d.of_batch));
      int64_t n = 1;
      const int64_t extent = !whole && micro ? d.size / 2 : d.size;
      while (n < 8 && extent % (2 * n) == 0)
        n *= 2;
      if (n > 1)
        blocks.push_back(fmt::format("{}: {}", d.name, n));
    }
    const int kind = random_.below(100);
    std::string numerics = kind < 75   ? "compute: f32"
                           : kind < 88 ? "compute: f64"
                                       : "compute: bf16";
    if (cut)
      numerics += fmt::format(", blocks: {{{}}}", fmt::join(blocks, ", "));
    std::string train = fmt::format("steps: 3, seed: {}", 1 + random_.below(100));
    train += ", optimizer: {" + random_.from(optimizers) + "}";
    if (random_.chance(40))
      train += ", clip: {global_norm: 1.0}";
    if (micro)
      train += random_.from(Names{", microbatches: 2", ", microbatches: 2, accumulate: blocks"});
    return fmt::format(
        "mtf: 1\nname: random\ndims: {{{}}}\nmodel:\n  inputs:\n{}  params:\n{}{}  steps:\n{}  "
        "loss: loss\n"
        "data: {{synthetic: {{{}}}}}\nnumerics: {{{}}}\ntrain: {{{}}}\n",
        fmt::join(sizes_text, ", "), inputs_, params_, blocks_, steps_, fmt::join(data_, ", "),
        numerics, train);
  }

  RandomLayout layout() {
    static const std::vector<Names> meshes = {{"{x: 2}", "x"},
                                              {"{x: 4}", "x"},
                                              {"{x: 2, y: 2}", "x", "y"},
                                              {"{x: 4, y: 2}", "x", "y"},
                                              {"{x: 2, y: 2, z: 2}", "x", "y", "z"}};
    const Names mesh = random_.from(meshes);
    Names axes(mesh.begin() + 1, mesh.end()), left;
    for (const DimSize& d : dims_)
      left.push_back(d.name);
    Names rules;
    if (axes.size() > 1 && random_.chance(20)) {  // several axes for one dim
      const std::string dim = random_.chance(60) ? "batch" : random_.from(left);
      const Names two =
          random_.chance(50) ? Names{axes[0], axes[1]} : Names{axes[1], axes[0] + "?"};
      rules.push_back(fmt::format("{{{}: [{}, '{}']}}", dim, two[0], two[1]));
      left = without(left, dim);
      axes.erase(axes.begin(), axes.begin() + 2);
    }
    for (const std::string& axis : axes) {
      const int count = 1 + random_.below(4);
      for (int i = 0; i < count && !left.empty(); ++i) {
        const std::string dim =
            i == 0 && random_.chance(35) && has(left, "batch") ? "batch" : random_.from(left);
        left = without(left, dim);
        const bool hard = i == 0 ? random_.chance(70) : random_.chance(15);
        rules.push_back(fmt::format("{{{}: '{}{}'}}", dim, axis, hard ? "" : "?"));
      }
    }
    std::string text = listed(rules);
    if (!parameters_.empty() && random_.chance(25)) {  // one tensor rests elsewhere
      const Tensor p = random_.from(parameters_);
      text = fmt::format("{{rules: {}, tensors: {{{}: [{{{}: '{}?'}}]}}}}", text, p.name,
                         random_.from(p.dims), mesh[1]);
    }
    return {{"mesh=" + mesh[0], "layout=" + text}};
  }

  inline static const std::vector<int64_t> sizes = {4, 8, 8, 16, 16, 6, 12, 24, 32, 32, 60, 64};
  inline static const Names optimizers = {"sgd: {learning_rate: 0.05}",
                                          "momentum: {learning_rate: 0.02}",
                                          "adamw: {learning_rate: 1.0e-3, weight_decay: 0.1}",
                                          "adam: {learning_rate: {peak: 1.0e-3, warmup: 2}}"};

  Random random_;
  std::vector<DimSize> dims_;
  Names features_;  // dims that products may make anew
  std::vector<Tensor> parameters_, values_;
  std::string inputs_, params_, blocks_, steps_;
  Names data_;
  int letters_ = 0, count_ = 0;
  bool has_memory_ = false;
};

}  // namespace

RandomModel random_model(uint64_t seed, int layouts) {
  return Grower(seed).grow(layouts);
}

}  // namespace mtf
