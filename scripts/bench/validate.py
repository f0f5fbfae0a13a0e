"""Times of `mtf validate`: one spec of 1,000 lines and 96 layers, with and without a budget, and 100 small ones.
Prints medians of wall and CPU seconds and the most memory. Usage: validate.py BUILD [--rounds N]"""
import argparse, os, statistics, subprocess, tempfile, time

HEAD = """mtf: 1
name: deep
dims: {batch: 64, length: 256, d_model: 1024, heads: 16, d_head: 64, d_ff: 4096, vocab: 512, layers: 96}
mesh: {data: 8, model: 8}
layout: {batch: data, heads: model, d_ff: model, vocab: model}
data: {synthetic: {tokens: {uniform: vocab}, targets: {uniform: vocab}}}
train: {steps: 10, microbatches: 4, optimizer: {adamw: {learning_rate: 6.0e-5}}, clip: {global_norm: 1.0}}
"""

SMALL = """mtf: 1
name: small
dims: {batch: 16, length: 64, d_model: 64, heads: 4, d_head: 16, d_ff: 256, vocab: 256, layers: 2}
mesh: {data: 2, model: 2}
layout: {batch: data, heads: model, d_ff: model, vocab: model}
model: {use: transformer_lm}
data: {synthetic: {tokens: {uniform: vocab}}}
train: {steps: 10, optimizer: {sgd: {learning_rate: 0.1}}}
"""


def deep(lines):
  """Layer by layer, ten lines each, from the library's attention and feed-forward."""
  out = HEAD.splitlines() + [
      "model:", "  inputs:", "    tokens: {dims: [batch, length], dtype: i32}",
      "    targets: {dims: [batch, length], dtype: i32}", "  params:",
      "    table: {dims: [vocab, d_model], init: {normal: 0.02}}", "  steps:",
      "    - x0: {embedding: [table, tokens], over: vocab}"]
  for i in range(96):
    out += [f"    # layer {i}", f"    - attention_{i}:", f"        multi_head_attention: x{i}", "        with:",
            "          norm: layer", "          bias: true", f"    - mid_{i}: {{add: [x{i}, attention_{i}]}}",
            f"    - mlp_{i}: {{dense_feed_forward: mid_{i}, with: {{norm: layer, bias: true}}}}",
            f"    - x{i + 1}:", f"        add: [mid_{i}, mlp_{i}]"]
  out += ["    - logits: {einsum: [x96, table]}", "    - loss: {cross_entropy: [logits, targets], over: vocab}",
          "  loss: loss", "  outputs: {logits: logits}"]
  out += ["#"] * (lines - len(out))
  return "\n".join(out) + "\n"


def once(command):
  """Wall and CPU seconds of a run, and its most memory in bytes."""
  start = time.perf_counter()
  child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
  complaint = child.stderr.read().decode()
  _, status, usage = os.wait4(child.pid, 0)
  if status:
    raise SystemExit(f"{' '.join(command[:3])} failed:\n{complaint[:2000]}")
  return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("build")
  parser.add_argument("--rounds", type=int, default=5)
  options = parser.parse_args()
  mtf = os.path.join(options.build, "mtf")
  with tempfile.TemporaryDirectory() as directory:
    def write(name, text):
      with open(os.path.join(directory, name), "w") as file:
        file.write(text)
      return file.name
    big = write("deep.yaml", deep(1000))
    small = [write(f"small_{i}.yaml", SMALL) for i in range(100)]
    parts = {"1,000 lines, 96 layers": [mtf, "validate", big],
             "the same with a budget": [mtf, "validate", big, "--set", "budget.memory=80GiB"],
             "100 small specs": [mtf, "validate", *small]}
    runs = {name: [] for name in parts}
    for _ in range(options.rounds):
      for name, command in parts.items():
        runs[name].append(once(command))
  for name, figures in runs.items():
    wall, cpu, memory = (statistics.median(column) for column in zip(*figures))
    print(f"{name:24} {wall:6.3f} s  {cpu:6.3f} s of CPU  {memory / 2**20:5.0f} MiB")


if __name__ == "__main__":
  main()
