"""Specs made to cost much: each is refused, at a place, within limits of CPU time and memory.

Called as `hostile_test.py EXECUTABLE`. The limits are the kernel's: a process that goes beyond dies.
"""

import os
import resource
import subprocess
import sys
import tempfile
import unittest

EXECUTABLE = sys.argv.pop(1)
MIB = 1 << 20
LIMIT = MIB  # bytes of a spec
SECONDS = 4  # of CPU; half of it goes to the slowest text on a slow machine
SMALL, TREE = 100 * MIB, 320 * MIB  # of heap: for any text, for a text of nothing but brackets

REGRESSIONS = ["!2", "[:", "{:", "{foo:", "!", "&", "*", "%", "a: !<", '"', "'", "|", ">", "- -", "? ?",
               ": :", "---", "...", "a: &x [*x]", "a: &x {b: *x}", "\ufeff", "a: \t- b", "? [a]\n: b"]


def filled(unit, size=LIMIT):
    return (unit * (size // len(unit) + 1))[:size]


def alias_bomb(levels):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for i in range(1, levels):
        lines.append("a%d: &a%d [%s]" % (i, i, ", ".join(["*a%d" % (i - 1)] * 9)))
    return "\n".join(lines)


def blocks_of_blocks(depth):
    """Each block uses the next one twice: 2^depth uses."""
    blocks = "".join("    b%d: {takes: x, steps: [{y: {b%d: x}}, {z: {b%d: y}}], gives: z}\n" % (i, i + 1, i + 1)
                     for i in range(depth))
    return ("mtf: 1\nname: bomb\ndims: {batch: 2}\nmodel:\n  inputs: {x: [batch]}\n  blocks:\n" + blocks +
            "    b%d: {takes: x, steps: [{y: {pass: x}}], gives: y}\n" % depth +
            "  steps: [{y: {b0: x}}]\n  outputs: {y: y}\n")


class Hostile(unittest.TestCase):
    def refused(self, text, heap=SMALL, says=""):
        """The message; the spec must be refused with a place and exit 1."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "hostile.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

            def limit():
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
                resource.setrlimit(resource.RLIMIT_DATA, (heap, heap))

            done = subprocess.run([EXECUTABLE, "validate", path], capture_output=True, timeout=60,
                                  preexec_fn=limit)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, 1, (text[:60], message[:500]))
        self.assertRegex(message.splitlines()[0], r":[1-9][0-9]*:[1-9][0-9]*: error: ")
        self.assertIn(says, message)
        self.assertLess(len(message), 64 << 10)
        return message

    def test_nesting(self):
        for unit in ("[", "{a: ", "- ", "? "):
            with self.subTest(unit=unit):
                self.refused(unit * 10000)
                self.refused(filled(unit), heap=TREE)
                self.refused(unit * 1000000 if len(unit) > 1 else filled(unit, LIMIT + 1),
                             says="a spec has at most 1048576")
        for unit, end in (("[", "]"), ("{a: ", "}"), ("- ", "")):
            with self.subTest(unit=unit):
                self.refused("a:\n  " + unit * 33 + "1" + end * 33, says="nested more than 32 deep")

    def test_aliases(self):
        self.refused(alias_bomb(20), says="not used in specs")
        self.refused("a: &x [*x]", says="not used in specs")

    def test_regressions_of_yaml_parsers(self):
        for text in REGRESSIONS:
            with self.subTest(text=text):
                self.refused(text)

    def test_long_lists_and_maps(self):
        self.refused("a: [%s]" % ",".join(["1"] * 500000), heap=TREE)
        self.refused("a: [%s]" % ",".join(["1"] * 1000000), says="a spec has at most 1048576")
        self.refused("dims: {%s}" % ", ".join("k%d: 1" % i for i in range(30000)), says="30000 dims")
        self.refused("\n".join("key_%d: 1" % i for i in range(30000)))
        self.refused("a: 1\n" * 200000, heap=TREE, says="stands twice")

    def test_one_thing_to_the_limit(self):
        for unit in "x \n\t#:,'\"!&*|>%-?]0":
            with self.subTest(unit=unit):
                self.refused(filled(unit), heap=TREE if unit in ",[" else SMALL)
        self.refused('a: "' + filled("x", LIMIT - 5) + '"')
        self.refused("a: " + filled("x", LIMIT - 3))
        self.refused("a: |\n" + filled(" x\n", LIMIT - 5))
        self.refused(filled("---\n"), says="one document")

    def test_beyond_the_limit_nothing_is_parsed(self):
        for size in (LIMIT + 1, 64 * MIB):
            self.refused(filled("[", size), says="a spec has at most 1048576")

    def test_many_wrong_names(self):
        steps = "".join("    - y%d: {relu: z%d}\n" % (i, i) for i in range(20000))
        self.refused("mtf: 1\nname: names\ndims: {d: 4}\nmodel:\n  inputs: {x: [d]}\n  steps:\n" + steps +
                         "  outputs: {y: y0}\n")

    def test_models_that_multiply(self):
        self.refused(blocks_of_blocks(60), heap=200 * MIB, says="grows beyond")

    def test_copies_are_counted_before_they_are_made(self):
        spec = ("mtf: 1\nname: deep\ndims: {batch: 2, n: %d}\nmodel:\n  inputs: {x: [batch]}\n"
                "  blocks: {b: {takes: x, steps: [{y: {exp: x}}], gives: y}}\n"
                "  steps: [{y: {repeat: b, times: n, from: x}}]\n  outputs: {y: y}\n")
        for n in (1000000, 2147483648, 1 << 40):
            self.refused(spec % n, says="copies of 'b', of 3 ops and steps each, are too many: a model has at "
                                        "most 131,072")


if __name__ == "__main__":
    unittest.main()
