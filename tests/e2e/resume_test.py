"""Runs that stop, are stopped or are killed continue on any mesh as if nothing had been."""

import os
import random
import re
import signal
import time

from harness import LM, SMALL_LM, Case, RunDirectory, main, sets

ALONE = ["mesh={}", "layout={}"]
DATA_2 = ["mesh={data: 2}", "layout={batch: data}"]
TENSOR_2 = ["mesh={model: 2}", "layout={heads: model, d_ff: model, vocab: model}"]
MIXED_4 = [
    "mesh={data: 2, model: 2}",
    "layout={batch: data, heads: model, d_ff: model, vocab: model}",
]


def ranks_of(mpirun):
    """Rank to process id, of the children of an mpirun."""
    found = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            if parent == mpirun:
                with open(f"/proc/{name}/environ", "rb") as file:
                    rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", file.read())
                found[int(rank[1])] = int(name)
        except (OSError, ValueError, TypeError):
            continue
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Resume(Case):
    def arguments(self, name, layout, values, resume=False):
        return (
            ["train", LM]
            + (["--resume"] if resume else [])
            + sets(SMALL_LM + layout + values + [f"train.checkpoint.directory={name}"])
        )

    def assert_same_run(self, one, other, step):
        one, other = RunDirectory(self.path(one)), RunDirectory(self.path(other))
        self.assertEqual(one.metrics(), other.metrics())
        tensors, expected = one.tensors(step), other.tensors(step)
        self.assertTrue(any(name.startswith("state:") for name in expected))
        self.assertEqual(tensors.keys(), expected.keys())
        self.assertEqual([name for name in expected if tensors[name] != expected[name]], [])

    def wait_for_step(self, process, step):
        """Reads progress lines until that step is done."""
        for line in process.stdout:
            found = re.match(rb"step +(\d+)/", line)
            if found and int(found[1]) >= step:
                return
        self.fail(process.stderr.read().decode())

    def assert_loads(self, name):
        """The newest step of the directory is whole: a run continues from it."""
        newest = RunDirectory(self.path(name)).steps()[-1]
        done = self.run_mtf(
            *self.arguments(name, ALONE, [f"train.steps={newest + 1}"], resume=True)
        )
        self.assertIn(f"resumed after step {newest} of", done.stdout.decode())

    def test_resume_on_other_meshes(self):
        constant = ["train.optimizer={adamw: {learning_rate: 0.003}}", "train.eval_every=2"]
        self.run_mtf(*self.arguments("whole", ALONE, constant + ["train.steps=6"]))
        self.run_mtf(*self.arguments("parts", ALONE, constant + ["train.steps=2"]))
        self.run_mtf(
            *self.arguments("parts", MIXED_4, constant + ["train.steps=4"], resume=True), ranks=4
        )
        self.run_mtf(
            *self.arguments("parts", TENSOR_2, constant + ["train.steps=6"], resume=True), ranks=2
        )
        self.assert_same_run("parts", "whole", 6)

    def test_directory_of_a_run_is_not_overwritten(self):
        self.run_mtf(*self.arguments("run", ALONE, []))
        before = RunDirectory(self.path("run")).metrics()
        done = self.run_mtf(*self.arguments("run", ALONE, []), expect=5)
        self.assert_refused(done, "run already holds a run (step 5)", "--resume")
        self.assertEqual(RunDirectory(self.path("run")).metrics(), before)
        done = self.run_mtf(*self.arguments("other", ALONE, [], resume=True), expect=4)
        self.assert_refused(done, "other holds no saved step to resume from")

    def test_signals_save_and_stop(self):
        values = [
            "train.steps=400",
            "train.log_every=1",
            "train.eval_every=100",
            "train.checkpoint.every=400",
        ]
        self.run_mtf(*self.arguments("whole", ALONE, values))
        for sent, layout, ranks in ((signal.SIGTERM, ALONE, None), (signal.SIGUSR1, DATA_2, 2)):
            with self.subTest(signal=sent.name):
                process = self.start_mtf(*self.arguments(sent.name, layout, values), ranks=ranks)
                self.wait_for_step(process, 10)
                process.send_signal(sent)
                text = process.communicate(timeout=30)[0].decode()
                self.assertEqual(process.returncode, 75, text)
                stopped = int(re.search(r"saved step (\d+) in", text)[1])
                self.assertLess(stopped, 400)
                self.assertEqual(RunDirectory(self.path(sent.name)).steps(), [stopped])
                done = self.run_mtf(*self.arguments(sent.name, ALONE, values, resume=True))
                self.assertIn(f"resumed after step {stopped} of", done.stdout.decode())
                self.assert_same_run(sent.name, "whole", 400)

    def test_death_of_one_rank_ends_the_job(self):
        values = [
            "train.steps=100000",
            "train.log_every=1",
            "train.eval_every=100000",
            "train.checkpoint.every=5",
        ]
        process = self.start_mtf(*self.arguments("run", MIXED_4, values), ranks=4)
        self.wait_for_step(process, 12)
        ranks = ranks_of(process.pid)
        self.assertEqual(sorted(ranks), [0, 1, 2, 3])
        os.kill(ranks[2], signal.SIGKILL)
        begin = time.monotonic()
        process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        while any(alive(pid) for pid in ranks.values()) and time.monotonic() - begin < 10:
            time.sleep(0.05)
        self.assertLess(time.monotonic() - begin, 10)
        self.assertGreaterEqual(RunDirectory(self.path("run")).steps()[-1], 10)
        self.assert_loads("run")

    def test_kill_during_saves(self):
        seed = int.from_bytes(os.urandom(4), "little")
        print(f"seed {seed}", flush=True)
        draw = random.Random(seed)
        values = [
            "train.steps=100000",
            "train.log_every=1",
            "train.eval_every=100000",
            "train.checkpoint.every=1",
        ]
        for trial in range(5):
            layout, ranks = (DATA_2, 2) if trial == 4 else (ALONE, None)
            process = self.start_mtf(
                *self.arguments("run", layout, values, resume=trial > 0), ranks=ranks
            )
            self.wait_for_step(process, 2)
            time.sleep(draw.uniform(0, 0.3))
            for pid in ranks_of(process.pid).values() if ranks else [process.pid]:
                os.kill(pid, signal.SIGKILL)
            process.communicate(timeout=30)
            self.assert_loads("run")
        self.assertEqual([n for n in os.listdir(self.path("run")) if ".tmp-" in n], [])


if __name__ == "__main__":
    main()
