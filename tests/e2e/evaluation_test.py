"""What training and evaluation count: inputs of every kind, uneven last batches, labels, seeds."""

import json
import math
import re
import struct

from harness import Case, RunDirectory, main, sets


def npy(dtype, shape, data):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def floats(shape, values):
    return npy("<f4", shape, struct.pack(f"<{len(values)}f", *values))


def ids(shape, values):
    return npy("<i4", shape, struct.pack(f"<{len(values)}i", *values))


# A learning rate that leaves every parameter as it is, so that losses have closed forms.
STILL = "optimizer: {sgd: {learning_rate: 1.0e-30}}, seed: 1"

# p = 3 row + 5 + 1: inputs without dims, of the names of the driver's own numbers, and of u8.
ROWS = f"""mtf: 1
name: rows
dims: {{batch: 4, a: 2}}
model:
  inputs:
    x: [batch, a]
    y: [batch, a]
    one: {{dims: [batch], dtype: u8}}
    step: []
    lr: []
  params: {{w: {{dims: [a], init: {{constant: 1}}}}}}
  steps:
    - s: {{multiply: [x, w]}}
    - scaled: {{multiply: [s, lr]}}
    - moved: {{add: [scaled, step]}}
    - ones: {{cast: one, dtype: f32}}
    - p: {{add: [moved, ones]}}
    - loss: {{LOSS: [p, y]}}
  loss: loss
  outputs: {{loss_sum: p, loss_count: p, correct: p, gradient_norm: p}}
data: {{arrays: {{x: x.npy, y: y.npy, one: one.npy, step: step.npy, lr: lr.npy}}, validation: 0.3}}
train: {{steps: 2, eval_every: 2, clip: {{global_norm: 1}}, {STILL}}}
"""

# Scores 0, 1, 2 of three classes for every row.
CLASSES = f"""mtf: 1
name: classes
dims: {{batch: 3, a: 2, k: 3}}
model:
  inputs: {{x: [batch, a], label: {{dims: [batch], dtype: i32}}}}
  params: {{w: [a, k]}}
  steps:
    - zero: {{einsum: [x, w]}}
    - class: {{iota: [], over: k}}
    - score: {{cast: class, dtype: f32}}
    - s: {{add: [zero, score]}}
    - loss: {{cross_entropy: [s, label], over: k, ignore: 1}}
    - guess: {{argmax: s, over: k}}
  loss: loss
  outputs: {{label: guess}}
data: {{arrays: {{x: x.npy, label: label.npy}}, validation: 0.4}}
train: {{steps: 1, eval_every: 1, {STILL}}}
"""

# A loss that has nothing to do with the labels, which only evaluation reads.
APART = f"""mtf: 1
name: apart
dims: {{batch: 2, a: 2, c: 2}}
model:
  inputs: {{x: [batch, a], y: [batch, c], label: {{dims: [batch], dtype: i32}}}}
  params: {{w: {{dims: [a, c], init: {{constant: 1}}}}}}
  steps:
    - s: {{einsum: [x, w]}}
    - loss: {{mean_squared_error: [s, y]}}
    - guess: {{argmax: s, over: c}}
  loss: loss
  outputs: {{label: guess}}
data: {{arrays: {{x: x.npy, y: y.npy, label: label.npy}}, validation: 0.3}}
train: {{steps: 1, eval_every: 1, {STILL}}}
"""

RENAMED = f"""mtf: 1
name: renamed
dims: {{batch: 4, t: 2, u: 2, v: 5, d: 4}}
model:
  inputs: {{tokens: {{dims: [batch, t], dtype: i32}}, y: [batch, u, d]}}
  params: {{table: [v, d]}}
  steps:
    - other: {{rename: tokens, dims: {{t: u}}}}
    - e: {{embedding: [table, other], over: v}}
    - loss: {{mean_squared_error: [e, y]}}
  loss: loss
data: {{arrays: {{tokens: tokens.npy, y: y.npy}}}}
train: {{steps: 1, {STILL}}}
"""


class Evaluation(Case):
    def evaluated(self, spec, values=(), local=False):
        """Held-out loss and, if there is one, accuracy after training and by `mtf eval`."""
        directory = f"train.checkpoint.directory=run{len(values)}{local}"
        words = [spec] + sets(list(values) + [directory])
        self.run_mtf("train", *words, *(["--local"] if local else []))
        lines = RunDirectory(self.path(directory.partition("=")[2])).metrics().splitlines()
        last = json.loads(lines[-1])
        done = self.run_mtf("eval", *words).stdout.decode()
        self.assertAlmostEqual(
            float(re.search(r"loss ([\d.]+)", done)[1]), last["held_out_loss"], places=4
        )
        return last

    def rows(self, loss, y):
        self.write("x.npy", floats((10, 2), [row for row in range(10) for _ in range(2)]))
        self.write("y.npy", floats((10, 2), [y] * 20))
        self.write("one.npy", npy("|u1", (10,), b"\x01" * 10))
        self.write("step.npy", floats((), [5]))
        self.write("lr.npy", floats((), [3]))
        return self.write("spec.yaml", ROWS.replace("LOSS", loss))

    def test_padding_is_not_counted(self):
        spec = self.rows("mean_squared_error", 0)
        mesh = ["mesh={data: 2}", "layout={batch: data}"]
        for values, local in (((), False), (["dims.batch=2"], False), (mesh, True)):
            last = self.evaluated(spec, values, local)
            self.assertAlmostEqual(last["held_out_loss"], (27**2 + 30**2 + 33**2) / 3, places=3)
            self.assertEqual(last["entries"], 6)

    def test_padding_of_yes_no_labels(self):
        last = self.evaluated(self.rows("sigmoid_cross_entropy", 0))
        self.assertAlmostEqual(last["held_out_loss"], 30, places=4)  # softplus(p) = p here
        self.assertEqual(last["entries"], 6)

    def test_padding_of_distributions(self):
        spec = self.rows("cross_entropy", 0.5)
        text = ROWS.replace("{LOSS: [p, y]}", "{cross_entropy: [p, y], over: a}")
        last = self.evaluated(self.write(spec, text))
        self.assertAlmostEqual(last["held_out_loss"], math.log(2), places=5)
        self.assertEqual(last["entries"], 3)

    def test_accuracy_is_of_labels_that_count(self):
        self.write("x.npy", floats((10, 2), [0] * 20))
        self.write("label.npy", ids((10,), [2] * 6 + [2, 1, -1, 0]))
        last = self.evaluated(self.write("spec.yaml", CLASSES))
        both = math.log(1 + math.e + math.e**2)
        self.assertAlmostEqual(last["held_out_loss"], both - 1, places=5)
        self.assertEqual((last["entries"], last["accuracy"]), (2, 0.5))

    def test_inputs_that_only_evaluation_reads(self):
        self.write("x.npy", floats((10, 2), [1] * 20))
        self.write("y.npy", floats((10, 2), [0] * 20))
        self.write("label.npy", ids((10,), [1] * 7 + [0, 0, 1]))
        last = self.evaluated(self.write("spec.yaml", APART))
        self.assertAlmostEqual(last["accuracy"], 2 / 3, places=6)
        self.assertEqual((last["held_out_loss"], last["entries"]), (4, 6))

    def test_nothing_is_held_out(self):
        self.rows("mean_squared_error", 0)
        text = ROWS.replace("LOSS", "mean_squared_error")
        none = self.write("none.yaml", text.replace(", validation: 0.3", ""))
        done = self.run_mtf("train", none)
        self.assertIn("warning: nothing is held out", done.stderr.decode())
        self.assertNotIn("held-out", done.stdout.decode())
        self.assert_refused(self.run_mtf("eval", none, expect=1), "nothing to evaluate")
        few = self.write("few.yaml", text.replace("validation: 0.3", "validation: 0.05"))
        self.assert_refused(
            self.run_mtf("train", few, expect=4), "a share of 0.05 of 10 examples holds out none"
        )


class Training(Case):
    def test_ids_under_other_names_are_checked(self):
        self.write("y.npy", floats((4, 2, 4), [0] * 32))
        self.write("tokens.npy", ids((4, 2), [0, 1, 2, 3, 4, 5, 0, 0]))
        spec = self.write("spec.yaml", RENAMED)
        self.assert_refused(self.run_mtf("train", spec, expect=4), "5 is not in the range 0 to 4")
        self.run_mtf("train", spec, "--set", "dims.v=6")

    def test_losses_of_f64_in_full(self):
        self.write("x.npy", npy("<f8", (8, 2), struct.pack("<16d", *[0.1] * 16)))
        text = f"""mtf: 1
name: full
dims: {{batch: 4, a: 2}}
numerics: {{compute: f64}}
model:
  inputs: {{x: [batch, a]}}
  params: {{w: {{dims: [a], init: {{constant: 0}}}}}}
  steps:
    - p: {{multiply: [x, w]}}
    - loss: {{mean_squared_error: [p, x]}}
  loss: loss
data: {{arrays: {{x: x.npy}}}}
train: {{steps: 1, microbatches: 2, {STILL}}}
"""
        self.run_mtf("train", self.write("spec.yaml", text))
        line = json.loads(RunDirectory(self.path("runs", "full")).metrics().splitlines()[0])
        self.assertAlmostEqual(line["loss"], 0.1 * 0.1, delta=1e-17)

    def test_patterns_and_dims_in_vain(self):
        text = RENAMED.replace("train: {steps: 1,", "train: {steps: 1, freeze: [tabel],")
        text += "mesh: {m: 2}\nlayout: {rules: {batch: m}, tensors: {tables: {v: m}}}\n"
        done = self.run_mtf("validate", self.write("spec.yaml", text)).stderr.decode()
        self.assertIn("warning: 'tabel' matches no parameter", done)
        self.assertIn("warning: 'tables' matches no tensor", done)
        self.assertEqual(done.count("[spec.pattern-unused]"), 2, done)
        good = text.replace("tabel", "tabl*").replace("tables", "table")
        done = self.run_mtf(
            "validate", self.write("spec.yaml", good.replace("v: m", "w: m")), expect=1
        )
        self.assert_refused(done, "no tensor has a dim 'w'")

    def test_decay_excluded_in_vain(self):
        text = RENAMED.replace(
            "sgd: {learning_rate: 1.0e-30}", "adamw: {learning_rate: 0.1, exclude: ['bias*']}"
        )
        done = self.run_mtf("validate", self.write("spec.yaml", text)).stderr.decode()
        self.assertIn("warning: 'bias*' matches no parameter", done)

    def test_a_run_is_resumed_with_its_own_seed(self):
        self.write("y.npy", floats((4, 2, 4), [0] * 32))
        self.write("tokens.npy", ids((4, 2), [0, 1, 2, 3, 4, 4, 0, 0]))
        spec = self.write("spec.yaml", RENAMED)
        self.run_mtf("train", spec)
        more = ["train", spec, "--resume", "--set", "train.steps=2"]
        done = self.run_mtf(*more, "--set", "train.seed=7", expect=4)
        self.assert_refused(done, "step_1 was trained with seed 1, and train.seed is 7")
        self.run_mtf(*more)


if __name__ == "__main__":
    main()
