#!/usr/bin/env bash
# Installs what tests need, builds everything and runs all tests.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh --tests
cmake -B build -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build build
ctest --test-dir build --no-tests=error --output-on-failure -j "$(nproc)" "$@"
