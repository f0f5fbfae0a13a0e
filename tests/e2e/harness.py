"""Runs the real executable for the end-to-end tests, and reads back what a run leaves behind.

Every test file is called as `test.py EXECUTABLE SPECS [unittest arguments]`.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

EXECUTABLE, SPECS = sys.argv[1], sys.argv[2]
LM = os.path.join(SPECS, "lm_bytes.yaml")
DIGITS = os.path.join(SPECS, "digits_mlp.yaml")
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

# A language model that trains a step in a few milliseconds and still splits over 8 ranks.
SMALL_LM = [
    "dims.batch=8",
    "dims.length=32",
    "dims.d_model=32",
    "dims.d_head=16",
    "dims.d_ff=64",
    "dims.layers=2",
    "train.steps=5",
    "train.eval_every=5",
    "train.checkpoint.every=5",
    "numerics.exact=bitwise",
    "data.validation=0.001",
]


def sets(values):
    return [word for value in values for word in ("--set", value)]


def command(arguments, ranks):
    """The words to start, on that many ranks; None: one process without mpirun."""
    launcher = [] if ranks is None else ["mpirun", "--oversubscribe", "-n", str(ranks)]
    return launcher + [EXECUTABLE] + arguments


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Case(unittest.TestCase):
    """A test in a temporary working directory."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="mtf-e2e-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def write(self, name, content):
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(content)
        return self.path(name)

    def run_mtf(self, *arguments, ranks=None, expect=0, timeout=60, stdin=b""):
        """The finished process, bytes in its streams, which must have exited with `expect`."""
        done = subprocess.run(
            command(list(arguments), ranks),
            cwd=self.directory,
            env=ENVIRONMENT,
            input=stdin,
            capture_output=True,
            timeout=timeout,
        )
        self.assertEqual(
            done.returncode,
            expect,
            f"{arguments}\n{done.stdout.decode(errors='replace')}"
            f"\n{done.stderr.decode(errors='replace')}",
        )
        return done

    def start_mtf(self, *arguments, ranks=None):
        process = subprocess.Popen(
            command(list(arguments), ranks),
            cwd=self.directory,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def assert_refused(self, done, *fragments, errors=1):
        """One message that holds all fragments, and nothing that looks like a crash."""
        text = done.stderr.decode()
        for fragment in fragments:
            self.assertIn(fragment, text)
        self.assertEqual(len(re.findall(r"\berror: ", text)), errors, text)
        for sign in ("internal error", "terminate called", "Signal:", "Backtrace"):
            self.assertNotIn(sign, text)


class RunDirectory:
    """metrics.jsonl, run.json and the saved steps of one run."""

    def __init__(self, path):
        self.path = path

    def losses(self):
        """`loss` and `held_out_loss` as they are written, line by line."""
        return re.findall(
            r'"(?:held_out_)?loss":[^,}]*', read_text(os.path.join(self.path, "metrics.jsonl"))
        )

    def metrics(self):
        """All lines, without the times."""
        return re.sub(
            r',"(?:seconds|share_of_peak)":[^,}]*',
            "",
            read_text(os.path.join(self.path, "metrics.jsonl")),
        )

    def record(self):
        return json.loads(read_text(os.path.join(self.path, "run.json")))

    def steps(self):
        return sorted(
            int(name[5:]) for name in os.listdir(self.path) if re.fullmatch(r"step_\d+", name)
        )

    def tensors(self, step):
        return tensors_of(os.path.join(self.path, f"step_{step}"))


def tensors_of(directory):
    """All tensors of a saved step, name to whole bytes: the boxes of all shards put together."""
    whole, missing = {}, {}
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".safetensors"):
            continue
        with open(os.path.join(directory, name), "rb") as file:
            data = file.read()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + length])
        for tensor, text in header.pop("__metadata__", {}).items():
            entry, box = header[tensor], json.loads(text)
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            if tensor not in whole:
                size = {"F64": 8, "F32": 4, "BF16": 2, "I32": 4}[entry["dtype"]]
                for n in box["whole"]:
                    size *= n
                whole[tensor], missing[tensor] = bytearray(size), size
            place(whole[tensor], box["whole"], box["origin"], entry["shape"], data[begin:end])
            missing[tensor] -= end - begin
    if any(missing.values()):
        raise AssertionError(f"{directory}: boxes do not cover every tensor exactly: {missing}")
    return {name: bytes(content) for name, content in whole.items()}


def place(out, whole, origin, size, box):
    """Copies a dense box into the dense whole, a row of the last dim at a time."""
    elements = 1
    for n in whole:
        elements *= n
    width = len(out) // elements
    if not whole:
        out[:] = box
        return
    row = size[-1] * width
    for i in range(len(box) // row):
        at, rest, stride = origin[-1], i, whole[-1]
        for d in range(len(whole) - 2, -1, -1):
            at += (origin[d] + rest % size[d]) * stride
            rest //= size[d]
            stride *= whole[d]
        out[at * width : at * width + row] = box[i * row : (i + 1) * row]


def main():
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
