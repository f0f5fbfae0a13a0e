"""The commands around a spec: starting one, seeing it resolved, looking at the machine."""

import os
import re

from harness import LM, Case, RunDirectory, main, read_text


class Starting(Case):
    def test_a_starter_trains_as_it_is(self):
        for starter in self.run_mtf("init").stdout.decode().split():
            with self.subTest(starter=starter):
                self.run_mtf("init", starter, "mine.yaml")
                self.run_mtf("validate", "--deny-warnings", "mine.yaml")
                small = ["--set", "train.steps=2"]
                if starter == "lm":
                    small += ["--set", "dims.length=16", "--set", "dims.layers=1"]
                self.run_mtf("train", "mine.yaml", "--local", *small)
                self.assertEqual(RunDirectory(self.path("runs/mine")).steps(), [2])
                os.remove(self.path("mine.yaml"))
                os.rename(self.path("runs"), self.path("runs_" + starter))

    def test_files_are_kept(self):
        self.write("lm.yaml", "mine")
        done = self.run_mtf("init", "lm", expect=2)
        self.assert_refused(done, "'lm.yaml'", "File exists")
        self.assertEqual(read_text(self.path("lm.yaml")), "mine")
        self.assert_refused(self.run_mtf("init", "gpt", expect=2), "'gpt'", "digits and lm")

    def test_a_file_name_becomes_a_name(self):
        self.run_mtf("init", "digits", "my digits (2).yaml")
        self.run_mtf("validate", "my digits (2).yaml")
        self.assertIn("name: my-digits--2- ", read_text(self.path("my digits (2).yaml")))


class Resolving(Case):
    def test_config_is_a_spec_of_its_own(self):
        text = self.run_mtf("config", LM, "--set", "train.seed=5").stdout
        self.assertRegex(text.decode(), r"(?m)^  seed: 5 +# command line, argument 4$")
        resolved = self.write("resolved.yaml", text)
        digest = [
            re.search(r"plan ([0-9a-f]{16})", self.run_mtf("plan", *spec).stdout.decode())[1]
            for spec in ([LM, "--set", "train.seed=5"], [resolved])
        ]
        self.assertEqual(digest[0], digest[1])

    def test_mistakes_are_told_and_the_rest_is_shown(self):
        spec = self.write("wrong.yaml", "mtf: 1\nmodel: {steps: []}\ntrain: {steps: -1}\n")
        done = self.run_mtf("config", spec, expect=1)
        self.assertIn("[spec.range]", done.stderr.decode())
        self.assertIn("steps: -1", done.stdout.decode())


class Machine(Case):
    def test_doctor_proves_the_laws(self):
        text = self.run_mtf("doctor").stdout.decode()
        self.assertEqual(len(re.findall(r"(?m)^  holds ", text)), 5, text)
        self.assertRegex(text, r"f32 peak +[1-9][0-9.]* GFLOP/s")
        self.assertRegex(text, r"(?m)^  mpirun +/")

    def test_version_names_the_libraries(self):
        text = self.run_mtf("--version").stdout.decode()
        self.assertRegex(text, r"^mtf [0-9]+\.[0-9]+\.[0-9]+\nMPI +\S")


if __name__ == "__main__":
    main()
