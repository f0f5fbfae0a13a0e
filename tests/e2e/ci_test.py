"""scripts/ci and the pre-commit hook, as far as they can be run without the services."""

import json
import os
import re
import shlex
import shutil
import subprocess
import unittest

from harness import ENVIRONMENT, EXECUTABLE, SPECS, Case, main, read_text

try:
    import yaml
except ImportError:
    yaml = None

ROOT = os.path.dirname(os.path.abspath(SPECS))
KIT = os.path.join(ROOT, "scripts", "ci")
HOOKS = os.path.join(ROOT, ".pre-commit-hooks.yaml")
GOOD = read_text(os.path.join(SPECS, "two_layer.yaml"))
BAD = GOOD.replace("steps: 5", "stebs: 5")


def load(path):
    return yaml.safe_load(read_text(path))


class Kit(Case):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("specs"))
        self.good = self.write("specs/good.yaml", GOOD)
        self.environment = dict(
            ENVIRONMENT, PATH=os.path.dirname(EXECUTABLE) + os.pathsep + ENVIRONMENT["PATH"]
        )

    def add_bad(self):
        self.write("specs/bad 100%.yaml", BAD)

    def run_program(self, *words, expect=0, **environment):
        done = subprocess.run(
            words, cwd=self.directory, env=dict(self.environment, **environment),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=60, text=True,
        )
        self.assertEqual(done.returncode, expect, f"{words}\n{done.stdout}")
        return done.stdout


@unittest.skipIf(yaml is None, "Python's yaml is not installed")
class PreCommit(Kit):
    def hook(self):
        (hook,) = load(HOOKS)
        return hook

    def test_the_hook_takes_specs_and_no_parts_of_them(self):
        hook = self.hook()
        taken = [
            name
            for name in ("specs/a.yaml", "models/specs/deep/b.yml", "specs/library/part.yaml",
                         "specs/notes.md", "ci/config.yaml")
            if re.search(hook["files"], name) and not re.search(hook["exclude"], name)
        ]
        self.assertEqual(taken, ["specs/a.yaml", "models/specs/deep/b.yml"])

    def test_the_entry_passes_good_specs_and_refuses_bad_ones(self):
        entry = shlex.split(self.hook()["entry"])
        self.assertIn("valid", self.run_program(*entry, "specs/good.yaml"))
        self.add_bad()
        text = self.run_program(*entry, "specs/good.yaml", "specs/bad 100%.yaml", expect=1)
        self.assertIn("specs/bad 100%.yaml:18:9: error: ", text)

    @unittest.skipIf(shutil.which("pre-commit") is None, "pre-commit is not installed")
    def test_pre_commit_runs_the_hook(self):
        def git(*words, where="."):
            identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
            return self.run_program("git", "-C", self.path(where), *identity, *words)

        os.makedirs(self.path("hooks"))
        shutil.copy(HOOKS, self.path("hooks"))
        git("init", "-q", where="hooks")
        git("add", ".", where="hooks")
        git("commit", "-q", "-m", "hooks", where="hooks")
        revision = git("rev-parse", "HEAD", where="hooks").strip()
        self.write(".pre-commit-config.yaml", json.dumps({"repos": [
            {"repo": self.path("hooks"), "rev": revision, "hooks": [{"id": "mtf-validate"}]}]}))
        git("init", "-q")
        git("add", ".pre-commit-config.yaml", "specs")
        run = ["pre-commit", "run", "--all-files"]
        home = self.path("home")
        self.assertIn("Passed", self.run_program(*run, PRE_COMMIT_HOME=home))
        self.add_bad()
        git("add", "specs")
        text = self.run_program(*run, PRE_COMMIT_HOME=home, expect=1)
        self.assertIn("Failed", text)
        self.assertIn("[spec.unknown-key]", text)


@unittest.skipIf(yaml is None, "Python's yaml is not installed")
class GitHub(Kit):
    """The steps of the action, with the shell and the variables that a runner gives them."""

    def setUp(self):
        super().setUp()
        self.action = load(os.path.join(KIT, "action.yml"))
        self.build, self.step = self.action["runs"]["steps"]

    def run_step(self, step, expect=0, environment=None, **inputs):
        values = {name: value["default"] for name, value in self.action["inputs"].items()}
        for name, value in inputs.items():
            values[name.replace("_", "-")] = value
        given = {
            key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m[1]], value)
            for key, value in step.get("env", {}).items()
        }
        self.assertEqual(step["shell"], "bash")
        script = self.write("step.sh", step["run"])
        return self.run_program("bash", "--noprofile", "--norc", "-eo", "pipefail", script,
                                expect=expect, **given, **(environment or {}))

    def test_mistakes_become_annotations(self):
        self.assertEqual(self.run_step(self.step, executable=EXECUTABLE), "")
        self.add_bad()
        text = self.run_step(self.step, executable=EXECUTABLE, expect=1)
        self.assertTrue(text.startswith("::error file=specs/bad 100%25.yaml,line=18,"), text)

    def test_a_report_goes_to_a_file(self):
        self.add_bad()
        self.run_step(self.step, executable=EXECUTABLE, format="sarif", output="mtf.sarif",
                      specs="specs/good.yaml\n\nspecs/bad 100%.yaml\n", expect=1)
        (run,) = json.loads(read_text(self.path("mtf.sarif")))["runs"]
        self.assertEqual([r["ruleId"] for r in run["results"]], ["spec.unknown-key"])

    def test_warnings_can_be_denied(self):
        self.write("specs/good.yaml", GOOD.replace("dims: {", "dims: {spare: 1, "))
        self.run_step(self.step, executable=EXECUTABLE)
        self.run_step(self.step, executable=EXECUTABLE, deny_warnings="true", expect=1)

    def test_mtf_is_built_where_the_next_step_looks(self):
        """With a cmake that only puts the executable where it was told to build."""
        for name in ("action/scripts/ci", "bin", "temp"):
            os.makedirs(self.path(name))
        programs = {"action/scripts/setup.sh": "#!/bin/sh\n",
                    "bin/cmake": f'#!/bin/sh\n[ "$1" = --build ] || exit 0\nmkdir -p "$2"\n'
                                 f'ln -s {shlex.quote(EXECUTABLE)} "$2/mtf"\n'}
        for name, text in programs.items():
            os.chmod(self.write(name, text), 0o755)
        environment = {"RUNNER_TEMP": self.path("temp"),
                       "GITHUB_ACTION_PATH": self.path("action/scripts/ci"),
                       "PATH": self.path("bin") + os.pathsep + self.environment["PATH"]}
        self.run_step(self.build, environment=environment)
        self.run_step(self.step, environment=environment)

    def test_the_problem_matcher_reads_what_validate_prints(self):
        (matcher,) = json.loads(read_text(os.path.join(KIT, "problem-matcher.json")))["problemMatcher"]
        (pattern,) = matcher["pattern"]
        self.write("specs/bad 100%.yaml", BAD.replace("dims: {", "dims: {spare: 1, "))
        done = self.run_mtf("validate", "specs", expect=1)
        found = [
            {key: match[group] for key, group in pattern.items() if key != "regexp"}
            for line in done.stderr.decode().splitlines()
            if (match := re.search(pattern["regexp"], line))
        ]
        self.assertEqual(
            [(f["file"], f["line"], f["column"], f["severity"], f["code"]) for f in found],
            [("specs/bad 100%.yaml", "4", "8", "warning", "dims.unused"),
             ("specs/bad 100%.yaml", "18", "9", "error", "spec.unknown-key")])
        self.assertEqual(found[0]["message"], "nothing uses dim 'spare'")


@unittest.skipIf(yaml is None, "Python's yaml is not installed")
class GitLab(Kit):
    def test_the_job_leaves_a_report(self):
        job = load(os.path.join(KIT, "gitlab.yml"))["mtf-validate"]
        self.assertEqual(job["artifacts"]["when"], "always")
        report = self.path(job["artifacts"]["reports"]["junit"])
        script = "set -eo pipefail\n" + "\n".join(job["script"])
        self.run_program("bash", "-c", script, **job["variables"])
        self.assertIn('failures="0"', read_text(report))
        self.add_bad()
        self.run_program("bash", "-c", script, expect=1, **job["variables"])
        self.assertIn('failures="1"', read_text(report))


class Schemas(Kit):
    @unittest.skipIf(shutil.which("check-jsonschema") is None, "check-jsonschema is not installed")
    def test_services_know_all_keys(self):
        for name, schema in (("action.yml", "vendor.github-actions"),
                             ("gitlab.yml", "vendor.gitlab-ci")):
            self.run_program("check-jsonschema", "--builtin-schema", schema,
                             os.path.join(KIT, name))


if __name__ == "__main__":
    main()
