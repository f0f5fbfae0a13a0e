#!/usr/bin/env bash
# Installs packages, builds mtf and runs the whole job on real text: validate, plan, train, infer.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$1"; }
run() {  # prints a command as you would type it, then runs it
  printf '$'
  printf ' %q' "$@"
  printf '\n'
  "$@"
}

say "Installing the packages that a build needs (nothing happens if they are here)"
scripts/setup.sh
say "Building a Release executable, build/mtf (minutes the first time; the log is build/quickstart.log)"
mkdir -p build
{ cmake -B build -G Ninja -DCMAKE_BUILD_TYPE=Release && cmake --build build --target mtf; } >build/quickstart.log 2>&1 ||
  { tail -40 build/quickstart.log; exit 1; }
export PATH="$PWD/build:$PATH"
if [ "$(id -u)" -eq 0 ]; then  # Open MPI asks root for its word
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
directory=$(mktemp -d)/lm-bytes
short=(--set train.steps=100 --set "train.checkpoint.directory=$directory")

say "The model, the data, the mesh and the layout are one file, specs/lm_bytes.yaml:"
run cat specs/lm_bytes.yaml
say "Is it right? Every mistake would be shown at its place."
run mtf validate specs/lm_bytes.yaml
say "What will each of the 4 ranks hold, compute and send? Nothing is allocated to find out."
run mtf plan specs/lm_bytes.yaml
say "Training on the King James text: a 2x2 mesh, 4 processes, 100 steps"
run mpirun -n 4 --oversubscribe mtf train specs/lm_bytes.yaml "${short[@]}"
say "The trained model continues a prompt, in one process: the layout does not matter to the result."
run mtf infer specs/lm_bytes.yaml --checkpoint "$directory" --prompt "In the beginning"
say "The run is in $directory; docs/ and specs/README.md say what else there is."
