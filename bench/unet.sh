#!/usr/bin/env bash
# Training speed of the paper's UNets compared with PyTorch and the same networks, in turn on the same machine. One JSON
# line each, kept in BUILD/bench_unet_DEVICE.jsonl. On CUDA the peer's compilation takes minutes.
#
#   bench/unet.sh [BUILD] [cpu|cuda]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build} device=${2:-cpu} python=${PYTHON:-.venv/bin/python}
log=$build/bench_unet_$device.jsonl
if [ "$device" = cpu ]; then
  for round in 1 2 3; do
    "$build/bench_train_unet" configs/paper/mnist.toml 32 32 2 32 cpu 3 3
    "$python" bench/train_unet_peer.py --net mnist --batch 32 --device cpu --modes eager --threads "$(nproc)" \
      --attention plain,sdpa --seconds 3 --windows 3
  done | tee "$log"
else
  {
    "$build/bench_train_unet" configs/paper/mnist.toml 32 32 2 256 cuda 5 3
    "$python" bench/train_unet_peer.py --net mnist --batch 256 --modes eager,reduce-overhead,compile-graph \
      --attention sdpa --seconds 3 --windows 3
    "$build/bench_train_unet" configs/paper/cityscapes.toml 128 256 8 16 cuda 3 4
    "$python" bench/train_unet_peer.py --net cityscapes --batch 16 --modes eager,reduce-overhead \
      --attention sdpa --seconds 3 --windows 3
  } | tee "$log"
fi
