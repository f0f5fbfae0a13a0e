"""Bad input of every kind: one clear message, its exit code, nothing lost, no rank left waiting."""

import json
import os
import struct
import subprocess
import unittest

from harness import DIGITS, ENVIRONMENT, LM, SMALL_LM, SPECS, Case, RunDirectory, main, sets

ALONE = ["mesh={}", "layout={}"]


def npy(dtype, shape, data):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


class CommandLine(Case):
    def test_mistakes(self):
        cases = [
            ((), "subcommand"),
            (("trian",), "there is no command 'trian'"),
            (("train",), "spec"),
            (("train", LM, "--fast"), "--fast"),
            (("train", LM, "--threads", "-1"), "'-1' is not a whole number"),
            (("plan", LM, "--format", "xml"), "xml"),
            (("show", "transformer_ml"), "did you mean 'transformer_lm'"),
        ]
        for arguments, fragment in cases:
            with self.subTest(arguments=arguments):
                self.assert_refused(self.run_mtf(*arguments, expect=2), fragment)
        self.assert_refused(self.run_mtf("train", LM, "--fast", ranks=2, expect=2), "--fast")

    def test_missing_specs(self):
        for name in ("validate", "plan", "train", "infer"):
            self.assert_refused(
                self.run_mtf(name, "nowhere.yaml", expect=4), "cannot read 'nowhere.yaml'"
            )
        self.assert_refused(
            self.run_mtf("train", "nowhere.yaml", ranks=3, expect=4), "cannot read 'nowhere.yaml'"
        )

    def test_overrides(self):
        for value, fragment in (
            ("train.stepps=5", "did you mean 'steps'"),
            ("train.steps=many", "many"),
            ("steps", "steps"),
            ("=3", "argument 4"),
            ("mesh={data: ", "argument 4"),
            ("dims.heads=3", "heads=3"),
        ):
            with self.subTest(value=value):
                self.assert_refused(self.run_mtf("plan", LM, "--set", value, expect=1), fragment)

    def test_number_of_ranks(self):
        for ranks, started in ((3, "3 were started"), (1, "1 was started")):
            done = self.run_mtf("train", LM, *sets(SMALL_LM), ranks=ranks, expect=1)
            self.assert_refused(
                done, "the mesh data=2, model=2 has 4 ranks", started, "`mpirun -n 4 mtf train"
            )
        self.assert_refused(
            self.run_mtf("train", LM, *sets(SMALL_LM), expect=1), "has 4 ranks", "--local"
        )
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_local_starts_the_ranks_if_they_fit(self):
        done = self.run_mtf("train", LM, "--local", *sets(SMALL_LM))
        self.assertIn("lm-bytes on data=2, model=2", done.stdout.decode())
        huge = [
            "mesh={data: 65536}",
            "layout={batch: data}",
            "dims.batch=65536",
            "numerics.exact=fast",
        ]
        self.assert_refused(
            self.run_mtf("train", LM, "--local", *sets(SMALL_LM[1:] + huge), expect=3),
            "has 65536 ranks of",
            "this machine has",
            "--local cannot start them here",
        )

    def test_budget(self):
        for name in ("validate", "plan"):
            done = self.run_mtf(name, LM, "--set", "budget.memory=1MiB", expect=3)
            self.assert_refused(done, "[budget.exceeded]", "1.00 MiB")

    def test_nothing_to_train(self):
        spec = self.write(
            "spec.yaml",
            "mtf: 1\nname: plain\ndims: {n: 4}\nmodel:\n  inputs: {x: [n]}\n"
            "  steps:\n    - y: {negative: x}\n  outputs: {y: y}\n",
        )
        self.assert_refused(self.run_mtf("train", spec, expect=1), "no `train:`")


class Data(Case):
    def refused(self, values, *fragments, spec=LM, base=tuple(SMALL_LM), ranks=None, expect=4):
        mesh = ALONE if ranks is None else []
        done = self.run_mtf(
            "train", spec, *sets(list(base) + mesh + values), ranks=ranks, expect=expect
        )
        self.assert_refused(done, *fragments)
        self.assertEqual(os.path.exists(self.path("runs", "lm-bytes", "latest")), False)

    def arrays(self, *fragments, image=None, label=None, ranks=None, expect=4):
        """Trains digits with these bytes in place of an array, which must be refused."""
        image = npy("<f4", (300, 64), bytes(300 * 64 * 4)) if image is None else image
        label = npy("<i4", (300,), bytes(300 * 4)) if label is None else label
        files = [
            f"data.arrays.image={self.write('image.npy', image)}",
            f"data.arrays.label={self.write('label.npy', label)}",
        ]
        self.refused(
            files, *fragments, spec=DIGITS, base=["train.steps=1"], ranks=ranks, expect=expect
        )

    def test_text(self):
        missing, wrong = ["data.text=nowhere.txt"], ["dims.vocab=64"]
        short = [f"data.text={self.write('short.txt', 'abc')}"]
        self.refused(missing, "nowhere.txt: no file matches")
        self.refused(wrong, "kjv.txt: byte 0: token 73 is not in the range 0 to 63")
        self.refused(short, "short.txt")
        self.refused(missing, "nowhere.txt: no file matches", ranks=4)
        self.refused(wrong, "token 73 is not in the range 0 to 63", ranks=4)

    def test_arrays(self):
        image, label = npy("<f4", (300, 64), bytes(300 * 64 * 4)), npy(
            "<i4", (300,), bytes(300 * 4)
        )
        self.arrays("image.npy", image=image[:-1000])
        self.arrays("image.npy", image=image[:20])
        self.arrays("image.npy", image=b"")
        self.arrays("image.npy", image=b"not an array" * 100)
        self.arrays("image.npy", "c8", image=npy("<c8", (300, 64), bytes(300 * 64 * 8)))
        self.arrays("label.npy", "f4", label=npy("<f4", (300,), bytes(300 * 4)))
        self.arrays("image.npy", "63", image=npy("<f4", (300, 63), bytes(300 * 63 * 4)))
        self.arrays("299", "300", label=npy("<i4", (299,), bytes(299 * 4)))
        self.arrays(
            "label.npy: row 299: 10 is not in the range up to 9",
            label=npy("<i4", (300,), struct.pack("<300i", *([0] * 299 + [10]))),
        )
        self.arrays(
            "label.npy: row 299: 12 is not in the range up to 9",
            ranks=4,
            label=npy("<i4", (300,), struct.pack("<300i", *([0] * 299 + [12]))),
        )
        self.refused(
            ["data.arrays.image=nowhere.npy"],
            "nowhere.npy",
            spec=DIGITS,
            base=["train.steps=1"],
            ranks=4,
        )

    def test_ids_of_an_array(self):
        ids = struct.pack("<320i", *([255] * 319 + [300]))
        path = self.write("tokens.npy", npy("<i4", (10, 32), ids))
        self.refused(
            [f"data={{arrays: {{tokens: {path}, targets: {path}}}}}"],
            "300 is not in the range 0 to 255",
            base=[s for s in SMALL_LM if not s.startswith("data.")],
        )


class Checkpoints(Case):
    def setUp(self):
        super().setUp()
        self.values = SMALL_LM + ["train.checkpoint.directory=run"]
        self.run_mtf("train", LM, *sets(self.values + ALONE))

    def damage(self, name, change):
        path = self.path("run", "step_5", name)
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(change(content))
        return content

    def assert_damage_found(self, name, change, *fragments, ranks=None):
        """infer and --resume refuse the damaged file; repaired, it is read again."""
        mesh = ALONE if ranks is None else []
        good = self.damage(name, change)
        for arguments in (
            ["infer", LM, "--prompt", "x"],
            ["train", LM, "--resume", "--set", "train.steps=6"],
        ):
            done = self.run_mtf(
                *arguments,
                *sets([v for v in self.values if v != "train.steps=5"] + mesh),
                ranks=ranks,
                expect=4,
            )
            self.assert_refused(done, *fragments)
            self.assertEqual(RunDirectory(self.path("run")).steps(), [5])
        self.damage(name, lambda _: good)

    def test_damage(self):
        def flip(at):
            return lambda b: b[:at] + bytes([b[at] ^ 4]) + b[at + 1 :]

        shard = "shard_0.safetensors"
        self.assert_damage_found(shard, flip(-1000), shard, "the file is damaged")
        self.assert_damage_found(shard, flip(-1000), shard, "the file is damaged", ranks=4)
        self.assert_damage_found(shard, flip(200), shard)
        self.assert_damage_found(shard, lambda b: b[:-1], shard, "expected", "bytes, found")
        self.assert_damage_found(shard, lambda b: b"", shard)
        self.assert_damage_found("manifest.json", flip(100), "manifest.json")
        self.assert_damage_found("manifest.json", lambda b: b[:-20], "manifest.json", ranks=4)
        self.run_mtf("infer", LM, *sets(self.values + ALONE), "--prompt", "x")

    def test_an_older_step_stands_in(self):
        self.run_mtf(
            "train",
            LM,
            "--resume",
            *sets([v for v in self.values if v != "train.steps=5"] + ALONE + ["train.steps=6"]),
        )
        os.truncate(self.path("run", "step_6", "shard_0.safetensors"), 100)
        done = self.run_mtf(
            "train",
            LM,
            "--resume",
            *sets([v for v in self.values if v != "train.steps=5"] + ALONE + ["train.steps=6"]),
        )
        self.assertIn("resumed after step 5 of run", done.stdout.decode())
        self.assertIn("step_6/shard_0.safetensors", done.stderr.decode())
        metrics = RunDirectory(self.path("run")).metrics()
        self.assertEqual(
            [json.loads(line)["step"] for line in metrics.splitlines()], [1, 2, 3, 4, 5, 5, 6, 6]
        )


class World(Case):
    def test_run_directories_that_cannot_be(self):
        self.write("file", "")
        for directory in ("file/run", "/proc/run"):
            for ranks, mesh in ((None, ALONE), (4, [])):
                done = self.run_mtf(
                    "train",
                    LM,
                    *sets(SMALL_LM + mesh + [f"train.checkpoint.directory={directory}"]),
                    ranks=ranks,
                    expect=5,
                )
                self.assert_refused(done, directory)

    def test_numbers_that_are_not_finite(self):
        values = (
            SMALL_LM
            + ALONE
            + [
                "train.optimizer={adamw: {learning_rate: 1.0e+30}}",
                "train.checkpoint.directory=run",
                "train.checkpoint.every=1",
                "train.checkpoint.keep=9",
                "train.log_every=1",
                "train.steps=50",
                "train.eval_every=50",
            ]
        )
        done = self.run_mtf(
            "train", LM, *sets([v for v in values if v not in SMALL_LM[5:8]]), expect=7
        )
        self.assert_refused(done, "not finite", "three steps in a row")
        run = RunDirectory(self.path("run"))
        lines = [json.loads(line) for line in run.metrics().splitlines()]
        good = [line["step"] for line in lines if "skipped" not in line][-1]
        self.assertEqual(
            [line["step"] for line in lines if "skipped" in line], [good + 1, good + 2, good + 3]
        )
        self.assertEqual(run.tensors(good + 2), run.tensors(good))

    @unittest.skipIf(os.geteuid() != 0, "mounting a small disk takes root")
    def test_full_disk(self):
        os.mkdir(self.path("disk"))
        mount = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", self.path("disk")],
            capture_output=True,
        )
        if mount.returncode != 0:
            self.skipTest("no tmpfs can be mounted here")
        self.addCleanup(subprocess.run, ["umount", self.path("disk")])
        values = [
            "train.checkpoint.directory=disk/run",
            "train.checkpoint.every=5",
            "train.eval_every=1000",
        ]
        small = [
            v for v in SMALL_LM if not v.startswith(("train.checkpoint", "train.eval"))
        ] + values
        large = small + ["dims.d_model=128"]
        done = self.run_mtf("train", LM, *sets(large), ranks=4, expect=5)
        self.assert_refused(done, "disk/run has", "free", "its saved steps need")
        self.assertFalse(os.path.exists(self.path("disk", "run")))

        self.run_mtf("train", LM, *sets(small), ranks=4)
        with open(self.path("disk", "filler"), "wb") as filler:
            filler.write(bytes(os.statvfs(self.path("disk")).f_bavail * 4096 - 1200000))
        before = RunDirectory(self.path("disk", "run")).tensors(5)
        process = self.start_mtf(
            "train",
            LM,
            "--resume",
            *sets(
                [v for v in small if v != "train.steps=5"]
                + ["train.steps=100000", "train.log_every=1"]
            ),
            ranks=4,
        )
        for _ in range(3):
            process.stdout.readline()
        with open(self.path("disk", "filler"), "ab", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass
        text = process.communicate(timeout=30)[1].decode()
        self.assertEqual(process.returncode, 5)
        self.assertEqual(text.count("error: "), 1, text)
        self.assertIn("No space left on device", text)
        run = RunDirectory(self.path("disk", "run"))
        self.assertIn(5, run.steps())
        self.assertEqual(run.tensors(5), before)


class Plans(Case):
    def test_json_has_integers(self):
        plan = json.loads(self.run_mtf("plan", LM, "--format", "json").stdout)

        def numbers(node, path=""):
            if isinstance(node, dict):
                for key, value in node.items():
                    yield from numbers(value, f"{path}.{key}")
            elif isinstance(node, list):
                for value in node:
                    yield from numbers(value, path)
            else:
                yield path, node

        counts = [
            (path, value) for path, value in numbers(plan) if "bytes" in path or "messages" in path
        ]
        self.assertGreater(len(counts), 20)
        self.assertEqual([(p, v) for p, v in counts if not isinstance(v, int) or v < 0], [])

    def test_a_directory_is_walked(self):
        done = self.run_mtf("validate", SPECS, expect=1)
        verdicts = dict(line.rsplit(": ", 1) for line in done.stdout.decode().splitlines())
        names = [f for f in os.listdir(SPECS) if f.endswith(".yaml")]
        starters = os.path.join(SPECS, "starters")
        paths = [os.path.join(SPECS, f) for f in names]
        paths += [os.path.join(starters, f) for f in os.listdir(starters)]
        self.assertEqual(sorted(verdicts), sorted(paths))
        for name in ("lm_bytes.yaml", "digits_mlp.yaml", "two_layer.yaml", "lm_blocks.yaml"):
            self.assertEqual(verdicts[os.path.join(SPECS, name)], "valid")
        for name in names:
            if name.startswith("bad_"):
                self.assertEqual(verdicts[os.path.join(SPECS, name)], "not valid")

    def test_bad_many(self):
        done = self.run_mtf("validate", os.path.join(SPECS, "bad_many.yaml"), expect=1)
        self.assert_refused(
            done,
            "did you mean 'learning_rate'",
            "heads=6",
            "1, 2, 3",
            "did you mean 'model'",
            "-5",
            "'seed'",
            "did you mean 'd_model'",
            errors=6,
        )

    def test_bad_axis_twice(self):
        done = self.run_mtf("validate", os.path.join(SPECS, "bad_axis_twice.yaml"), expect=1)
        self.assert_refused(
            done, "bad_axis_twice.yaml:9:3: error", "[layout.axis-reused]", "'spare'"
        )
        text = done.stderr.decode()
        self.assertRegex(text, r"bad_axis_twice\.yaml:8:10: note: 'batch' is split over 'all' here")
        self.assertRegex(text, r"bad_axis_twice\.yaml:14:11: note: h is made here")
        self.assertIn("note: 1 more op conflicts", text)
        self.assertIn("warning: nothing uses dim 'spare'", text)


if __name__ == "__main__":
    main()
