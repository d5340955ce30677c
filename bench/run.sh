#!/usr/bin/env bash
# Runs each benchmark and its PyTorch peer in turn, several times, and prints the medians and their ratio. The machine's
# noise hits both alike. Lines are kept in BUILD/bench.jsonl.
#
#   bench/run.sh [BUILD] [REPEATS] [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build} repeats=${2:-7} seconds=${3:-5}
log=$build/bench.jsonl
: > "$log"
for ((k = 1; k <= repeats; k++)); do
  "$build/bench_train_mlp" configs/mlp.toml "$seconds" | tee -a "$log"
  .venv/bin/python bench/train_mlp_peer.py "$seconds" plain | tee -a "$log"
  .venv/bin/python bench/train_mlp_peer.py "$seconds" fused | tee -a "$log"
done
.venv/bin/python - "$log" <<'PY'
import json, statistics, sys
rates = {}
for line in open(sys.argv[1]):
    entry = json.loads(line)
    rates.setdefault(entry["who"], []).append(entry["steps_per_second"])
(ours, a), *peers = rates.items()
print(f"{ours}: {statistics.median(a):.1f} steps/s ({min(a):.1f} to {max(a):.1f})")
for peer, b in peers:
    ratios = sorted(x / y for x, y in zip(a, b))
    print(f"{peer}: {statistics.median(b):.1f} steps/s ({min(b):.1f} to {max(b):.1f}); "
          f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(ratios)} pairs)")
PY
