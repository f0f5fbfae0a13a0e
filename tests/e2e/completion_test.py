"""Completion: bash runs the script and offers the words that the language, the spec on the line and the
command line have; fish does so too where it is installed, and zsh at least reads its script."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

mtf = os.path.abspath(sys.argv[1])
found_first = {**os.environ, "PATH": f"{os.path.dirname(mtf)}:{os.environ['PATH']}"}

SPEC = """
mtf: 1
dims: {batch: 8, heads: 4}
mesh: {data: 2, model: 1}
layout: {batch: data}
model: {use: transformer_lm, with: {tied: true}}
data: {arrays: {image: x.npy}}
infer: {mesh: {one: 2}}
"""
BROKEN = "dims: {batch: 8}}]\nmesh: {data: 2}\n- x\n"
MENDED = "dims: {batch: [8\nmesh: {data: 2}\n"

CASES = {
    "mtf val": ["validate"],
    "mtf --v": ["--version"],
    "mtf nothing ": [],
    "mtf validate ": ["a.yaml", "b.yaml", "broken.yaml", "derived.yaml", "folder", "mended.yaml"],
    "mtf validate a.yaml b": ["b.yaml", "broken.yaml"],
    "mtf plan a.yaml ": [],  # it takes one
    "mtf train a.yaml --res": ["--resume"],
    "mtf validate a.yaml --res": [],
    "mtf plan --color ": ["auto", "always", "never"],
    "mtf plan --threads ": [],
    "mtf infer a.yaml --checkpoint no": ["notes.txt"],
    # keys of the language
    "mtf validate a.yaml --set train.st": ["train.steps="],
    "mtf train a.yaml --set train.optimizer.adamw.learning_rate.wa":
        ["train.optimizer.adamw.learning_rate.warmup="],
    "mtf train a.yaml --set train.nothing": [],
    "mtf plan a.yaml --set infer.layout.limits.": ["infer.layout.limits.gather="],
    "mtf train --set train.acc": ["train.accumulate="],
    "mtf plan --set mes": ["mesh=", "mesh."],
    # of the spec, also through what it extends and other overrides
    "mtf plan a.yaml --set dims.": ["dims.batch=", "dims.heads="],
    "mtf plan derived.yaml --set dims.": ["dims.batch=", "dims.heads=", "dims.wide="],
    "mtf plan --set mesh.extra=2 a.yaml --set mesh.": ["mesh.data=", "mesh.model=", "mesh.extra="],
    "mtf plan a.yaml --set infer.mesh.": ["infer.mesh.one="],
    "mtf plan a.yaml --set layout.h": ["layout.heads="],
    "mtf plan a.yaml --set numerics.blocks.": ["numerics.blocks.batch=", "numerics.blocks.heads="],
    "mtf plan a.yaml --set data.arrays.": ["data.arrays.image="],
    "mtf plan a.yaml --set model.with.ti": ["model.with.tied="],
    "mtf plan a.yaml --set data.tok --threads 2": [],
    # values: bash takes = as the border of a word, so only what stands behind it is offered
    "mtf train a.yaml --set train.accumulate=b": ["blocks"],
    "mtf train a.yaml --set=train.accumulate=b": ["blocks"],
    "mtf train a.yaml --set=train.accu": ["train.accumulate="],
    "mtf train a.yaml --set numerics.compute=": ["f32", "bf16", "f64"],
    "mtf train a.yaml --set train.optimizer.adamw.learning_rate.decay=c": ["cosine"],
    "mtf train a.yaml --set layout.heads=": ["data", "model"],
    "mtf train a.yaml --set infer.layout.heads=": ["one"],
    "mtf train a.yaml --set model.with.norm=": ["rms", "layer"],
    "mtf train a.yaml --set model.with.bias=": ["true", "false"],
    "mtf train a.yaml --set dims.batch=": [],
    # a spec that cannot be read has no names, unless what is meant is plain
    "mtf plan mended.yaml --set mesh.": ["mesh.data="],
    "mtf plan broken.yaml --set mesh.": ["mesh."],
    "mtf plan missing.yaml --set mesh.": ["mesh."],
    "mtf plan folder --set mesh.": ["mesh."],
    "mtf plan - --set mesh.": ["mesh."],
    # what else stands behind a command
    "mtf show trans": ["transformer_lm"],
    "mtf explain layout.in": ["layout.indivisible", "layout.inexact"],
    "mtf explain yaml.syntax yaml.dup": ["yaml.duplicate-key"],
    "mtf ops ": [],
    "mtf ops --m": ["--markdown"],
    "mtf completion f": ["fish"],
    "mtf schema l": ["library"],
    "mtf init dig": ["digits"],
    "mtf init digits b": ["b.yaml", "broken.yaml"],
}


def script(shell):
    return subprocess.run([mtf, "completion", shell], check=True, capture_output=True, text=True).stdout


def in_bash(line, folder):
    """COMPREPLY of bash for what stands before the cursor."""
    run = (f"{script('bash')}\nCOMP_LINE=\"$1\" COMP_POINT=${{#1}} COMP_WORDBREAKS=$' \\t\\n\"><=;|&(:'\n"
           "_mtf\n((${#COMPREPLY[@]})) && printf '%s\\n' \"${COMPREPLY[@]}\"\n")
    done = subprocess.run(["bash", "-c", run, "mtf", line], cwd=folder, env=found_first, text=True,
                          capture_output=True)
    assert done.stderr == "", done.stderr
    return done.stdout.split()


def in_fish(line, folder):
    """What fish lists, up to summaries."""
    done = subprocess.run(["fish", "--no-config", "-c", f"{script('fish')}\ncomplete -C \"$argv[1]\"", line],
                          cwd=folder, env=found_first, text=True, capture_output=True)
    assert done.stderr == "", done.stderr
    return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


def test_bash(folder):
    for line, words in CASES.items():
        assert sorted(in_bash(line, folder)) == sorted(words), (line, in_bash(line, folder))


def test_executable_as_typed(folder):
    home = os.path.dirname(mtf)
    assert in_bash(f"{mtf} explain yaml.dup", folder) == ["yaml.duplicate-key"]
    found_first["HOME"] = home
    assert in_bash(f"~/{os.path.basename(mtf)} explain yaml.dup", folder) == ["yaml.duplicate-key"]
    assert in_bash("/nowhere/mtf explain yaml.dup", folder) == []


def test_answer(folder):
    """Never an error, and soon."""
    begin = time.monotonic()
    for words in ([], ["plan", "broken.yaml", "--set", "dims."], ["", ""], ["--help", ""], ["plan", "--set"],
                  ["plan", "a.yaml", "--set", "train: {", "--set", "dims."], ["plan", "--=", "--=x"]):
        done = subprocess.run([mtf, "__complete", *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", (words, done)
    assert time.monotonic() - begin < 7 * 2
    done = subprocess.run([mtf, "__complete", "explain", "yaml.duplicate-key"], capture_output=True, text=True)
    assert done.stdout.startswith("yaml.duplicate-key\t") and len(done.stdout) > 20  # with its title


def test_other_shells(folder):
    for shell in ("zsh", "fish"):
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=script(shell), text=True, check=True)
        else:
            print(f"{shell} is not installed: its script was not read")
    if shutil.which("fish"):
        assert in_fish("mtf plan a.yaml --set dims.", folder) == ["dims.batch=", "dims.heads="]
        assert in_fish("mtf explain yaml.dup", folder) == ["yaml.duplicate-key"]
        assert in_fish("mtf validate b", folder) == ["b.yaml", "broken.yaml"]
        assert in_fish("mtf plan broken.yaml --set mesh.", folder) == ["mesh."]


with tempfile.TemporaryDirectory() as scratch:
    files = {"a.yaml": SPEC, "b.yaml": "", "broken.yaml": BROKEN, "mended.yaml": MENDED, "notes.txt": "",
             "derived.yaml": "extends: a.yaml\ndims: {wide: 2}\n"}
    for file, content in files.items():
        with open(f"{scratch}/{file}", "w") as out:
            out.write(content)
    os.mkdir(f"{scratch}/folder")
    test_bash(scratch)
    test_answer(scratch)
    test_other_shells(scratch)
    test_executable_as_typed(scratch)
