"""The JSON Schemas by other libraries: jsonschema says that they are of draft-07, and that they accept the
specs without errors and the library, as PyYAML reads them, and refuse other specs where they are wrong."""
import json
import pathlib
import subprocess
import sys

import jsonschema
import yaml

mtf, source = sys.argv[1], pathlib.Path(sys.argv[2])


def schema_of(*what):
    printed = subprocess.run([mtf, "schema", *what], check=True, capture_output=True, text=True).stdout
    jsonschema.Draft7Validator.check_schema(json.loads(printed))
    return json.loads(printed)


schema = schema_of()
assert schema == schema_of("spec")
validator = jsonschema.Draft7Validator(schema)


def misplaced(spec):
    """Does mtf find a key or value that stands in the wrong place?"""
    done = subprocess.run([mtf, "validate", spec], capture_output=True, text=True)
    return any(f"[spec.{code}]" in done.stderr
               for code in ("unknown-key", "missing-key", "type", "range", "not-yet"))


def keys_of(node):
    """Every key that is described: a map of `properties`, at any depth."""
    if isinstance(node, dict):
        for key, value in node.get("properties", {}).items():
            if isinstance(value, dict):
                yield key, value
        for value in node.values():
            yield from keys_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from keys_of(value)


verdicts = {}
for spec in sorted(source.glob("specs/*.yaml")):
    text = spec.read_text()
    if spec.name == "bad_many.yaml":
        continue  # a key stands twice, which PyYAML does not see
    verdicts[spec.name] = validator.is_valid(yaml.safe_load(text))
    assert verdicts[spec.name] != misplaced(spec), spec.name
assert verdicts["lm_bytes.yaml"] and verdicts["lm_blocks.yaml"] and verdicts["digits_mlp.yaml"]
assert not verdicts["gpt3_175b.yaml"]  # `storage` is refused for now

train = schema["definitions"]["train"]["properties"]
assert train["steps"]["minimum"] == 1 and train["steps"]["type"] == "integer"
assert train["microbatches"]["default"] == 1
assert train["accumulate"]["enum"] == ["reduced", "blocks", None]
assert schema["definitions"]["train.optimizer.adamw"]["properties"]["learning_rate"]["default"] == 0.001
assert all(word["description"] for _, word in keys_of(schema["definitions"]["train"]))
error = next(validator.iter_errors({"mtf": 1, "model": {"steps": []}, "budget": {"memory": "2 apples"}}))
assert list(error.absolute_path) == ["budget"], error

library = jsonschema.Draft7Validator(schema_of("library"))
for file in source.glob("specs/library/*.yaml"):
    text = file.read_text()
    library.validate(yaml.safe_load(text))
    assert not library.is_valid(yaml.safe_load(text.replace("\nsteps:", "\nstps:"))), file
    assert not library.is_valid(yaml.safe_load(text.replace("einsum: [", "einsum: 7, x: ["))), file
print(f"{len(verdicts)} specs, {sum(verdicts.values())} of them accepted")
