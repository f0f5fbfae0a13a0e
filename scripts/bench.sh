#!/usr/bin/env bash
# Measures, in one run and interleaved, this machine's peaks and what mtf makes of them; prints medians.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
cmake -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$build" --target mtf bench_machine bench_product >/dev/null
if [ "$(id -u)" -eq 0 ]; then  # Open MPI asks root for its word
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
python3 scripts/bench/measure.py "$build" "$@"
[ $# -gt 0 ] || "$build/tests/kernels/bench_product"
