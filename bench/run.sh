#!/usr/bin/env bash
# Runs each benchmark and its PyTorch peers in turn, several times, so that the machine's noise affects all equally, and
# prints the medians and their ratios. The paper uses batches of 512, our recipe 1,024. Lines go to BUILD/bench.jsonl.
#
#   bench/run.sh [BUILD] [REPEATS] [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build} repeats=${2:-7} seconds=${3:-4} python=${PYTHON:-.venv/bin/python}
log=$build/bench.jsonl
: > "$log"
for batch in 512 1024; do
  for ((k = 1; k <= repeats; k++)); do
    "$build/bench_train_mlp" configs/mlp.toml "$seconds" "$batch"
    "$python" bench/train_mlp_peer.py "$seconds" plain "$batch"
    "$python" bench/train_mlp_peer.py "$seconds" fused "$batch"
  done
done | tee "$log"
"$python" bench/summarise.py "$log"
