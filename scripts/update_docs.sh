#!/usr/bin/env bash
# Rewrites schemas/, and the outputs and tables that README.md and docs/ show, with what the commands print now.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
cmake --build "$build" --target mtf docs_keys docs_definitions
"$build/mtf" schema >schemas/spec.schema.json
"$build/mtf" schema library >schemas/library.schema.json
python3 tests/docs/run_docs.py "$build" . "$@" --update
