#include "specs.h"

#include <nlohmann/json.hpp>

namespace mtf {
namespace {

YamlNode scalar(std::string text, bool quoted = false) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = std::move(text);
  node.quoted = quoted;
  return node;
}

YamlNode list(std::vector<YamlNode> items) {
  YamlNode node;
  node.kind = YamlNode::Kind::list;
  node.items = std::move(items);
  return node;
}

YamlNode map(std::string key, YamlNode value) {
  YamlNode node;
  node.kind = YamlNode::Kind::map;
  node.entries.emplace_back(YamlNode::Key{std::move(key), {}}, std::move(value));
  return node;
}

std::vector<YamlNode> replacements() {
  return {YamlNode(),
          scalar("7"),
          scalar("0"),
          scalar("-3"),
          scalar("0.5"),
          scalar("1e300"),
          scalar("99999999999999999999"),
          scalar("true"),
          scalar("zzz"),
          scalar("7", true),
          list({}),
          list({scalar("zzz")}),
          list({scalar("7"), scalar("0.5")}),
          list({list({})}),
          map("zzz", scalar("7")),
          map("zzz", YamlNode()),
          map("zzz", list({scalar("zzz")}))};
}

class Changes {
 public:
  using Use = std::function<void(const YamlNode&, const std::string&)>;
  Changes(const YamlNode& root, const Use& use) : root_(root), use_(use) {}

  void at(YamlNode& node, const std::string& path) {
    const YamlNode before = node;
    for (const YamlNode& value : path.empty() ? std::vector<YamlNode>{} : replacements()) {
      node = value;
      use_(root_, path + " := " + flow_yaml(value));
    }
    node = before;
    if (node.is_map())
      change_keys(node, path);
    for (size_t i = 0; i < node.entries.size(); ++i)
      at(node.entries[i].second, (path.empty() ? "" : path + ".") + node.entries[i].first.text);
    for (size_t i = 0; i < node.items.size(); ++i)
      at(node.items[i], path + "[" + std::to_string(i) + "]");
  }

 private:
  void change_keys(YamlNode& node, const std::string& path) {
    const auto before = node.entries;
    node.entries.emplace_back(YamlNode::Key{"zzz", {}}, scalar("7"));
    use_(root_, path + " + zzz");
    for (size_t i = 0; i < before.size(); ++i) {
      node.entries = before;
      node.entries.erase(node.entries.begin() + static_cast<std::ptrdiff_t>(i));
      use_(root_, path + " - " + before[i].first.text);
      node.entries = before;
      node.entries[i].first.text += "_zzz";
      use_(root_, path + " renames " + before[i].first.text);
    }
    node.entries = before;
  }

  const YamlNode& root_;
  const Use& use_;
};

}  // namespace

const std::vector<std::string>& full_specs() {
  static const std::vector<std::string> texts = {
      R"(
mtf: 1
name: own-model
dims: {batch: 8, io: 4, hidden: {size: io + 0, like: io, pad: 2}, layers: 2}
mesh: {data: 2, model: 1}
layout:
  rules: [{batch: data}, {io: [model, "data?"]}]
  tensors: {"layers[*]/w": {io: model}, "table": []}
  limits: {gather: 64MiB}
model:
  with: {activation: relu, norm: layer, rate: 0.1, keep: true}
  dims: {extra: {size: 2 * io, like: io, pad: 4}, small: 3}
  inputs: {x: {dims: [batch, io], dtype: f32}, target: [batch, io]}
  params:
    scale: {dims: io, init: {constant: 1}}
    shift: {dims: [io], init: {normal: 0.02}}
    p1: {dims: [io], init: {uniform: 0.1}}
    p2: {dims: [io, extra], init: {fan_in: io}}
    p3: {dims: [io, small], init: {fan_avg: [io, [small]]}}
  choose: {normalize: {by: $norm, rms: rms_norm, layer: layer_norm, else: pass}}
  blocks:
    layer:
      takes: [x]
      with: {activation: gelu}
      dims: {wide: {size: 2 * io}}
      local: false
      params: {w: [io, wide], v: {dims: [wide, io], init: {fan_in: [wide]}}}
      choose: {act: {by: $activation, gelu: gelu, else: relu}}
      steps:
        - a: {einsum: [x, w], to: [batch, wide]}
        - b: {act: a}
        - c: {einsum: [b, v]}
        - out: {add: [x, c]}
      gives: out
    two: {takes: x, gives: {first: x, second: x}}
  steps:
    - n: {normalize: [x, scale, shift], over: io}
    - d: {dropout: n, rate: $rate}
    - layers: {repeat: layer, times: layers, from: [d], with: {activation: $activation}}
    - pair: {two: layers}
    - q: {multiply: [pair.first, p1]}
    - p: {pass: q}
    - e: {einsum: [p2, p3]}
    - s: {reduce_sum: e, over: [extra, small]}
    - y: {add: [p, s]}
    - renamed: {rename: y, dims: {io: hidden}}
    - loss: {mean_squared_error: [y, target]}
  loss: loss
  outputs: {y: y}
data: {arrays: {x: x.npy, target: target.npy}, validation: 0.25, batch: batch}
train:
  steps: 5
  microbatches: 2
  accumulate: blocks
  optimizer: {sgd: {learning_rate: 0.1}}
  clip: {global_norm: 1.0}
  freeze: "layers[0]/*"
  log_every: 1
  eval_every: 2
  checkpoint: {directory: runs/own, every: 2, keep: 3}
  seed: 3
infer:
  along: batch
  tokens: x
  logits: y
  max_tokens: 3
  prefill: 4
  temperature: 0.5
  top_k: 2
  seed: 3
  dims: {batch: 1}
  mesh: {data: 2}
  layout: {io: data}
numerics: {compute: f32, exact: fast, blocks: {batch: 4}}
budget: {memory: 2GiB}
hardware: laptop
)",
      R"(
mtf: 1
dims: {batch: 4, length: 4, d_model: 4, heads: 2, d_head: d_model / heads, d_ff: 8, vocab: 8, layers: 1}
mesh: {data: 2}
layout: [{batch: data}, {length: "data?"}]
model: {use: transformer_lm, with: {norm: rms, tied: true}}
data: {text: [a.txt, b/*.txt], tokenizer: bytes}
train:
  steps: 5
  optimizer:
    adamw:
      learning_rate: {peak: 0.001, warmup: 2, decay: cosine, final: 0.1}
      betas: [0.9, 0.95]
      epsilon: 1.0e-8
      weight_decay: 0.1
      exclude: ["**/scale", table]
  freeze: [table]
numerics: {blocks: 16}
budget: {memory: 1073741824}
)",
      R"(
mtf: 1
dims: {batch: 4, io: 4}
mesh: {all: 2}
layout: {batch: all}
model:
  inputs: {x: [batch, io], label: {dims: batch, dtype: i32}}
  params: {w: io}
  steps: [y: {multiply: [x, w]}, loss: {cross_entropy: [y, label], over: io, ignore: -1}]
  loss: loss
data: {synthetic: {x: {normal: 1.0}, label: {uniform: io}}}
train: {steps: 5, optimizer: {momentum: {learning_rate: {peak: 0.1}, momentum: 0.5}}}
)",
      R"(
mtf: 1
dims: {batch: 4, io: 4}
model:
  inputs: {x: [batch, io]}
  params: {w: io}
  steps: [y: {multiply: [x, w]}, z: {square: y}, loss: {reduce_mean: z, over: [batch, io]}]
  loss: loss
data: {text: a.txt}
train: {steps: 5, optimizer: {adam: {learning_rate: 0.1, betas: [0.9, 0.95], epsilon: 1.0e-8}}}
)"};
  return texts;
}

void for_each_change(const YamlNode& root, const Changes::Use& use) {
  YamlNode tree = root;
  Changes(tree, use).at(tree, "");
}

std::string flow_yaml(const YamlNode& node) {
  if (node.is_null())
    return "null";
  if (node.is_scalar())
    return node.quoted ? nlohmann::json(node.text).dump() : node.text;
  std::string out;
  for (const YamlNode& item : node.items)
    out += (out.empty() ? "" : ", ") + flow_yaml(item);
  for (const auto& [key, value] : node.entries)
    out += (out.empty() ? "" : ", ") + nlohmann::json(key.text).dump() + ": " + flow_yaml(value);
  return node.is_map() ? "{" + out + "}" : "[" + out + "]";
}

}  // namespace mtf
