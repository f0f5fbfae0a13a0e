"""mtf validate: every format tells the same of the same specs, with the same exit code."""

import json
import os
import unittest
import xml.etree.ElementTree as ElementTree

from harness import Case, main, read_text

try:
    import jsonschema
except ImportError:
    jsonschema = None

FORMATS = ["text", "json", "jsonl", "github", "sarif", "junit"]
HERE = os.path.dirname(os.path.abspath(__file__))

GOOD = """mtf: 1
name: good
dims: {batch: 8, io: 4}
model:
  inputs: {x: {dims: [batch, io]}, target: {dims: [batch, io]}}
  params: {w: [io, hidden], v: [hidden, io]}
  steps:
    - h: {einsum: [x, w]}
    - y: {einsum: [h, v]}
    - loss: {mean_squared_error: [y, target]}
  loss: loss
data: {synthetic: {x: {normal: 1.0}, target: {normal: 1.0}}}
train: {steps: 5, optimizer: {sgd: {learning_rate: 0.1}}, seed: 1}
""".replace("io: 4}", "io: 4, hidden: 16}")
BAD = GOOD.replace("steps: 5", 'steps: "日本%\\n"').replace("seed: 1", "sed: 1")
WARNED = GOOD.replace("hidden: 16", "hidden: 16, spare: 3")
TOO_BIG = GOOD + "budget: {memory: 1KiB}\n"
AWKWARD = "a b%, c.yaml"


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


class Validate(Case):
    def setUp(self):
        super().setUp()
        for name, text in {"good.yaml": GOOD, "bad.yaml": BAD, "warned.yaml": WARNED,
                           "big.yaml": TOO_BIG, AWKWARD: BAD}.items():
            self.write(name, text)

    def validate(self, *arguments, form="text", expect=0, stdin=b""):
        done = self.run_mtf("validate", "--format", form, *arguments, expect=expect, stdin=stdin)
        if form != "text":
            self.assertEqual(done.stderr, b"")
        return done.stdout.decode()

    def json(self, *arguments, expect=0, stdin=b""):
        return json.loads(self.validate(*arguments, form="json", expect=expect, stdin=stdin))

    def test_exit_codes_are_the_same_in_every_format(self):
        matrix = [
            (["good.yaml"], 0),
            (["bad.yaml"], 1),
            (["warned.yaml"], 0),
            (["warned.yaml", "--deny-warnings"], 1),
            (["big.yaml"], 3),
            (["missing.yaml"], 4),
            (["big.yaml", "bad.yaml", "good.yaml"], 1),
            (["missing.yaml", "bad.yaml", "big.yaml"], 4),
            (["good.yaml", "--max-errors", "x"], 2),
            (["--max-errors", "1", "bad.yaml"], 1),
        ]
        for arguments, code in matrix:
            for form in FORMATS:
                with self.subTest(arguments=arguments, form=form):
                    self.run_mtf("validate", "--format", form, *arguments, expect=code)

    def test_verdicts_and_messages_are_apart_in_text(self):
        done = self.run_mtf("validate", "bad.yaml", "missing.yaml", "good.yaml", expect=4)
        self.assertEqual(done.stdout.decode(),
                         "bad.yaml: not valid\nmissing.yaml: not read\ngood.yaml: valid\n")
        self.assert_refused(done, "cannot read 'missing.yaml'", "[spec.type]", errors=3)

    def test_json_holds_every_finding(self):
        found = self.json("bad.yaml", "missing.yaml", "warned.yaml", expect=4)
        self.assertEqual((found["valid"], found["error_count"], found["warning_count"]),
                         (False, 3, 1))
        self.assertEqual([d["code"] for d in found["diagnostics"]],
                         ["spec.type", "spec.unknown-key", None, "dims.unused"])
        typo = found["diagnostics"][1]
        text = BAD.encode()
        start, end = typo["range"]["start"]["byte"], typo["range"]["end"]["byte"]
        self.assertEqual(text[start:end], b"sed")
        edit = typo["edits"][0]
        self.assertEqual((edit["range"], edit["text"]), (typo["range"], "seed"))
        code, offsets = typo["snippet"]["code"], typo["snippet"]
        self.assertEqual(
            code.encode()[offsets["highlight_start_offset"]:offsets["highlight_end_offset"]],
            b"sed")
        self.assertEqual([f["exit_code"] for f in found["files"]], [1, 4, 0])

    def test_denied_warnings_are_errors_everywhere(self):
        arguments = ["warned.yaml", "--deny-warnings"]
        found = self.json(*arguments, expect=1)
        self.assertEqual((found["error_count"], found["warning_count"]), (1, 0))
        self.assertEqual(found["diagnostics"][0]["severity"], "error")
        self.assertTrue(
            self.validate(*arguments, form="github", expect=1).startswith("::error file="))
        sarif = json.loads(self.validate(*arguments, form="sarif", expect=1))
        self.assertEqual(sarif["runs"][0]["results"][0]["level"], "error")
        junit = ElementTree.fromstring(self.validate(*arguments, form="junit", expect=1))
        self.assertEqual(junit.get("failures"), "1")

    def test_lines_of_json(self):
        lines = [json.loads(line) for line in
                 self.validate("bad.yaml", "good.yaml", form="jsonl", expect=1).splitlines()]
        self.assertEqual([line["type"] for line in lines],
                         ["diagnostic", "diagnostic", "verdict", "verdict"])
        whole = self.json("bad.yaml", expect=1)["diagnostics"]
        self.assertEqual([dict(d, type="diagnostic") for d in whole], lines[:2])

    def test_junit_is_xml(self):
        text = self.validate(AWKWARD, "good.yaml", "warned.yaml", "missing.yaml", form="junit",
                             expect=4)
        suites = ElementTree.fromstring(text)
        self.assertEqual([suite.get("name") for suite in suites],
                         [AWKWARD, "good.yaml", "warned.yaml", "missing.yaml"])
        self.assertEqual((suites.get("tests"), suites.get("failures"), suites.get("errors")),
                         ("5", "2", "1"))
        failure = suites[0].find("testcase[@name='spec.type']/failure")
        self.assertIn("日本%", failure.get("message"))
        self.assertIn(f"{AWKWARD}:13:", failure.text)
        self.assertIn("[dims.unused]", suites[2].find("system-out").text)
        self.assertIn("missing.yaml", suites[3].find("testcase/error").get("message"))

    def test_annotations_are_one_line_each(self):
        lines = self.validate(AWKWARD, form="github", expect=1).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[0].startswith("::error file=a b%25%2C c.yaml,line=13,endLine=13,"))
        self.assertIn("日本%25", lines[0])
        self.assertTrue(lines[1].endswith("%0Ahelp: did you mean 'seed'?"))

    def test_sarif_has_what_services_require(self):
        """What code scanning asks for: rules with texts, a message, a place in a file."""
        log = self.sarif()
        run = log["runs"][0]
        rules = run["tool"]["driver"]["rules"]
        self.assertEqual(len({rule["id"] for rule in rules}), len(rules))
        for rule in rules:
            for key in ("shortDescription", "fullDescription", "help"):
                self.assertTrue(rule[key]["text"])
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
            self.assertTrue(result["message"]["text"])
            place = result["locations"][0]["physicalLocation"]
            self.assertEqual(place["artifactLocation"]["uri"], "a%20b%25%2C%20c.yaml")
            self.assertGreaterEqual(place["region"]["startLine"], 1)

    def test_a_fingerprint_is_fnv1a_of_code_and_line(self):
        line = BAD.splitlines()[12]
        found = [r["partialFingerprints"]["mtfFinding/v1"] for r in self.sarif()["runs"][0]["results"]]
        self.assertEqual(found, [fnv1a("spec.type\n" + line) + ":1",
                                 fnv1a("spec.unknown-key\n" + line) + ":1"])

    def sarif(self):
        return json.loads(self.validate(AWKWARD, form="sarif", expect=1))

    @unittest.skipIf(jsonschema is None, "Python's jsonschema is not installed")
    def test_sarif_is_valid_by_the_published_schema(self):
        schema = json.loads(read_text(os.path.join(HERE, "sarif", "sarif-schema-2.1.0.json")))
        validator = jsonschema.Draft4Validator(schema)
        runs = [
            ([AWKWARD, "good.yaml", "missing.yaml"], 4, b""),
            (["good.yaml"], 0, b""),
            (["-"], 1, BAD.encode()),
            (["good.yaml", "--set", "train.steps=-1"], 1, b""),
            (["bad.yaml", "--max-errors", "1"], 1, b""),
        ]
        for arguments, code, stdin in runs:
            with self.subTest(arguments=arguments):
                log = json.loads(
                    self.validate(*arguments, form="sarif", expect=code, stdin=stdin))
                self.assertEqual([e.message for e in validator.iter_errors(log)], [])
                log["runs"][0]["columnKind"] = "letters"
                self.assertEqual(len(list(validator.iter_errors(log))), 1)

    def test_no_text_of_a_spec_breaks_a_format(self):
        specs = {
            "invalid UTF-8": b"mtf: 1\nname: \xff\xfe\xc0\x80\n",
            "control characters": b"mtf: 1\n\"a\\x1b[2J\\0\\a\": ]]>\x1b[2J\x07\n",
            "not characters": "mtf: 1\n\uffff\ufffe<&\u202e: 1\n".encode(),
            "escapes": b'mtf: 1\n"a\\x1b\\x9b\\uffff\\r\\n::error::": 1\n',
            "BOM and CRLF": b"\xef\xbb\xbfmtf: 1\r\nmoddel: \xe6\x97\xa5\r\n",
            "empty": b"",
            "zero bytes": b"\0\0\0",
        }
        for name, text in specs.items():
            self.write("odd.yaml", text)
            for form in FORMATS:
                with self.subTest(name=name, form=form):
                    done = self.run_mtf("validate", "--format", form, "odd.yaml", expect=1)
                    printed = (done.stdout + done.stderr).decode()
                    self.assertNotRegex(printed, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\uffff]")
                    if form in ("json", "sarif"):
                        json.loads(printed)
                    elif form == "jsonl":
                        self.assertGreater(len([json.loads(x) for x in printed.splitlines()]), 1)
                    elif form == "junit":
                        self.assertIsNotNone(ElementTree.fromstring(printed).find(".//failure"))
                    elif form == "github":
                        for line in printed.splitlines():
                            self.assertRegex(line, r"^::error file=odd\.yaml,")

    def test_the_file_of_each_span_of_a_chain(self):
        self.write("base.yaml", BAD)
        self.write("top.yaml", "extends: base.yaml\ndims: {spare: 3}\n")
        found = self.json("top.yaml", "--set", "train.stepz=1", expect=1)["diagnostics"]
        self.assertEqual([(d["code"], d["range"]["filename"]) for d in found
                          if d["severity"] == "error"],
                         [("spec.type", "base.yaml"), ("spec.unknown-key", "base.yaml"),
                          ("spec.unknown-key", "command line, argument 6")])
        self.assertEqual({d["spec"] for d in found}, {"top.yaml"})

    def test_standard_input_has_a_name(self):
        done = self.run_mtf("validate", "-", expect=1, stdin=BAD.encode())
        self.assertEqual(done.stdout, b"<stdin>: not valid\n")
        self.assertIn(b"<stdin>:13:", done.stderr)
        github = self.validate("-", form="github", expect=1, stdin=BAD.encode())
        self.assertTrue(github.startswith("::error title=spec.type::<stdin>:13:"), github)

    def test_folders_are_walked(self):
        for folder in ("specs/deep", "specs/library", "specs/.hidden", "empty/library"):
            os.makedirs(self.path(folder))
        for name in ("specs/z.yaml", "specs/deep/a.yml", "specs/library/part.yaml",
                     "specs/.hidden/b.yaml", "specs/.c.yaml", "empty/library/part.yaml"):
            self.write(name, GOOD)
        self.write("specs/notes.txt", "no spec")
        os.mkfifo(self.path("specs/pipe.yaml"))
        self.assertEqual(self.validate("specs", "specs/z.yaml", "./good.yaml"),
                         "specs/deep/a.yml: valid\nspecs/z.yaml: valid\n./good.yaml: valid\n")
        done = self.run_mtf("validate", "empty", "good.yaml", expect=4)
        self.assert_refused(done, "there is no spec in the folder 'empty'")
        self.assertEqual(done.stdout, b"empty: not read\ngood.yaml: valid\n")

    def test_only_so_many_are_shown_errors_first(self):
        many = GOOD.replace("hidden: 16", "hidden: 16, " + ", ".join(f"spare{i}: 1" for i in range(150)))
        many = many.replace("seed: 1", "sed: 1")
        self.write("many.yaml", many)
        done = self.run_mtf("validate", "many.yaml", expect=1).stderr.decode()
        self.assertEqual(done.count(": warning: "), 99)
        self.assertEqual(done.count(": error: "), 1)
        self.assertTrue(done.endswith("… and 51 more\n"), done)
        self.assertEqual(len(self.json("many.yaml", expect=1)["diagnostics"]), 151)
        limited = self.json("many.yaml", "--max-errors", "1", expect=1)
        self.assertEqual([d["code"] for d in limited["diagnostics"]], ["spec.unknown-key"])
        self.assertEqual((limited["warning_count"], limited["files"][0]["omitted"]), (150, 150))
        all_of_them = self.run_mtf("validate", "many.yaml", "--max-errors", "0", expect=1)
        self.assertEqual(all_of_them.stderr.decode().count("[dims.unused]"), 150)


if __name__ == "__main__":
    main()
