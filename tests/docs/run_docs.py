"""Runs the commands of README.md and docs/ and compares what they print with what the page shows.

In a page, a ```sh block is a list of commands; the ```text block right below it, if there is one, is
their output. Between `<!-- generated: COMMAND -->` and `<!-- end generated -->` stands what COMMAND
prints. A `<!-- not run: REASON -->` above a block leaves it alone. With --update the pages are
rewritten; without, a difference is a failure. All commands of a page run one after the other in one
scratch copy of what the repository ships, with the build directory on the PATH.
"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?P<skip><!-- not run: [^\n]*-->\n)?```sh\n(?P<code>.*?)```\n"
                   r"(?:\n?```text\n(?P<shown>.*?)```\n)?", re.S)
GENERATED = re.compile(r"(?P<head><!-- generated: (?P<code>[^\n]*) -->\n)(?P<shown>.*?)"
                       r"(?P<tail><!-- end generated -->\n)", re.S)
# What differs from run to run or from machine to machine: times, rates, run ids, digests, and what
# depends on the number of cores.
VOLATILE = [
    (r"[0-9]+(?:\.[0-9]+)? (tokens|entries)/s", r"N \1/s"),
    (r"[0-9]+ % of peak", "N % of peak"),
    (r"[0-9.]+ (?:s|min|h) left", "N left"),
    (r"plan [0-9a-f]{16}", "plan N"),
    (r"(?m)^  (workspace|total) .*$", r"  \1"),
    (r"[0-9.]+ [KMG]iB a rank", "N a rank"),
    (r'"digest": "[0-9a-f]{16}"', '"digest": N'),
]


def masked(text):
    for pattern, replacement in VOLATILE:
        text = re.sub(pattern, replacement, text)
    return text


class Page:
    def __init__(self, path, build, source):
        self.path = path
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="mtf_docs_"))
        for name in ("specs", "src", "kernels", "tests"):
            shutil.copytree(source / name, self.scratch / name)
        self.env = dict(os.environ, PATH=f"{build}:{build}/tests/docs:{os.environ['PATH']}",
                        OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        OMPI_MCA_rmaps_base_oversubscribe="1", NO_COLOR="1")
        self.failures = []

    def output(self, code):
        """Output and messages, in the order in which they came; a mistake of a spec (exit 1 or 3) is
        output like any other."""
        done = subprocess.run(["bash", "-c", code], cwd=self.scratch, env=self.env, timeout=900,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode not in (0, 1, 3):
            self.failures.append(f"{self.path}: exit {done.returncode} of\n{code}{done.stdout}")
        return done.stdout

    def compare(self, code, shown, printed):
        if masked(shown) == masked(printed):
            return
        lines = difflib.unified_diff(masked(shown).splitlines(), masked(printed).splitlines(),
                                     "shown", "printed", lineterm="")
        self.failures.append(f"{self.path}: the output differs of\n{code}" + "\n".join(lines))

    def block(self, match):
        if match["skip"]:
            return match[0]
        printed = self.output(match["code"])
        if match["shown"] is None:
            return match[0]
        if printed and not printed.endswith("\n"):
            printed += "\n"
        self.compare(match["code"], match["shown"], printed)
        if masked(match["shown"]) == masked(printed):  # new times alone are no reason to rewrite
            return match[0]
        start = match.start("shown") - match.start()
        return match[0][:start] + printed + match[0][start + len(match["shown"]):]

    def generated(self, match):
        printed = self.output(match["code"])
        self.compare(match["code"] + "\n", match["shown"], printed)
        return match["head"] + printed + match["tail"]

    def run(self):
        text = self.path.read_text()
        text = BLOCK.sub(self.block, text)
        text = GENERATED.sub(self.generated, text)
        shutil.rmtree(self.scratch, ignore_errors=True)
        return text


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    arguments = [a for a in arguments if a != "--update"]
    build, source = (pathlib.Path(a).resolve() for a in arguments[:2])
    pages = [source / a for a in arguments[2:]]
    if not pages:
        pages = [source / "README.md", source / "specs/README.md", *sorted((source / "docs").glob("*.md"))]
    failures = []
    for path in pages:
        page = Page(path, build, source)
        text = page.run()
        if update and text != path.read_text():
            path.write_text(text)
            print(f"rewrote {path.relative_to(source)}")
        failures += [f for f in page.failures if not update or ": exit " in f]
    print("\n\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
