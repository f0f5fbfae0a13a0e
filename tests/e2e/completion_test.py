"""Completion: bash runs the script and offers the words that the language and the command line have; zsh
and fish, where they are installed, at least read theirs."""
import shutil
import subprocess
import sys
import tempfile

mtf = sys.argv[1]


def script(shell):
    return subprocess.run([mtf, "completion", shell], check=True, capture_output=True, text=True).stdout


def offered(line, folder):
    """COMPREPLY of bash for what stands before the cursor."""
    run = (f"{script('bash')}\nCOMP_LINE=\"$1\" COMP_POINT=${{#1}} COMP_WORDBREAKS=$' \\t\\n\"><=;|&(:'\n"
           "_mtf\n((${#COMPREPLY[@]})) && printf '%s\\n' \"${COMPREPLY[@]}\"\n")
    done = subprocess.run(["bash", "-c", run, "mtf", line], cwd=folder, capture_output=True, text=True)
    assert done.stderr == "", done.stderr
    return done.stdout.split()


def test_bash(folder):
    for name in ("a.yaml", "b.yaml", "notes.txt"):
        open(f"{folder}/{name}", "w").close()
    cases = {
        "mtf val": ["validate"],
        "mtf validate ": ["a.yaml", "b.yaml"],
        "mtf train a.yaml --res": ["--resume"],
        "mtf validate a.yaml --res": [],
        "mtf plan --color ": ["auto", "always", "never"],
        "mtf validate a.yaml --set train.st": ["train.steps="],
        "mtf train a.yaml --set train.optimizer.adamw.learning_rate.wa":
            ["train.optimizer.adamw.learning_rate.warmup="],
        "mtf train a.yaml --set train.nothing": [],
        "mtf train a.yaml --set train.acc": ["train.accumulate=reduced", "train.accumulate=blocks"],
        # bash takes = as the border of a word: only what stands behind it is offered
        "mtf train a.yaml --set train.accumulate=b": ["blocks"],
        "mtf train a.yaml --set numerics.compute=": ["f32", "bf16", "f64"],
        "mtf plan a.yaml --set mes": ["mesh=", "mesh."],
        "mtf plan a.yaml --set infer.layout.limits.": ["infer.layout.limits.gather="],
        "mtf show trans": ["transformer_lm"],
        "mtf completion f": ["fish"],
    }
    for line, words in cases.items():
        assert sorted(offered(line, folder)) == sorted(words), (line, offered(line, folder))


def test_other_shells(folder):
    for shell in ("zsh", "fish"):
        text = script(shell)
        assert "train.accumulate=blocks" in text and "deny-warnings" in text
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=text, text=True, check=True)
        else:
            print(f"{shell} is not installed: its script was not read")


with tempfile.TemporaryDirectory() as scratch:
    test_bash(scratch)
    test_other_shells(scratch)
