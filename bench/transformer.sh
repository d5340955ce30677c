#!/usr/bin/env bash
# Training speed of a transformer (11 million parameters, a table of 256 columns) compared with PyTorch and the same
# network, in turn on the same machine, several times; prints the medians and their ratios. One JSON line per run, kept
# in BUILD/bench_transformer_DEVICE.jsonl. On CUDA the peer's first compilation takes minutes; later ones are cached.
#
#   bench/transformer.sh [BUILD] [REPEATS] [SECONDS] [cpu|cuda]
#
# MODES lists the peer's modes ("eager compile" on CUDA, "eager eager-bf16" on the CPU; see train_transformer_peer.py),
# BATCH the items per step (64 on CUDA, 8 on the CPU), LABELS those per column (2).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build} repeats=${2:-5} seconds=${3:-10} device=${4:-cpu} python=${PYTHON:-.venv/bin/python}
labels=${LABELS:-2}
if [ "$device" = cpu ]; then
  batch=${BATCH:-8} modes=${MODES:-eager eager-bf16}
  export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}  # for both
else
  batch=${BATCH:-64} modes=${MODES:-eager compile}
fi
log=$build/bench_transformer_$device.jsonl

peer() { "$python" bench/train_transformer_peer.py "$seconds" "$1" "$device" "$batch" "$labels"; }

for ((k = 1; k <= repeats; k++)); do
  "$build/bench_train_transformer" "$seconds" "$device" "$batch" "$labels"
  for mode in $modes; do
    case $mode in
      compile*) peer "$mode" || peer reduce-overhead ;;  # if the step cannot be captured, what torch.compile captures
      *) peer "$mode" ;;
    esac
  done
done | tee "$log"
"$python" bench/summarise.py "$log"
