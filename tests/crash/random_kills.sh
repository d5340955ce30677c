#!/usr/bin/env bash
# Repeatedly kills a training run at random times, resumes it each time, and compares the result with an undisturbed
# run: every checkpoint readable, final weights and optimiser identical bit for bit, the same losses.
#
#   tests/crash/random_kills.sh PROGRAM SOURCE_DIR [KILLS]
set -euo pipefail
program=$1 source=$2 kills=${3:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
train=("$program" train "$source/configs/glyphs.toml" --set train.batch=4 --set train.steps=200 --set watch.every=40
       --set watch.items=8 --set watch.grid=0 --set watch.save_seconds=0.1)

"${train[@]}" --out "$work/whole" 2>"$work/log" || { cat "$work/log"; exit 1; }

# Seeded, so that failures are reproducible.
RANDOM=7
killed=0
resume=()
while true; do
  "${train[@]}" --out "$work/killed" ${resume[@]+"${resume[@]}"} 2>"$work/log" &
  pid=$!
  if [ "$killed" -lt "$kills" ]; then
    sleep "0.$((RANDOM % 90 + 10))"
    if [ "$((RANDOM % 2))" = 1 ]; then sleep 0.5; fi
    kill -9 "$pid" 2>/dev/null || true
  fi
  code=0
  wait "$pid" 2>/dev/null || code=$?
  [ "$code" = 0 ] && break
  [ "$code" = 137 ] || { echo "the resumed run failed:"; cat "$work/log"; exit 1; }
  killed=$((killed + 1))
  [ -d "$work/killed/checkpoints" ] && ls "$work/killed/checkpoints" | grep -q '^step-' || continue
  resume=(--resume)
  "$program" sample "$work/killed" --count 1 --steps 1 --out "$work/one.npy" 2>"$work/log" ||
    { echo "unreadable after kill $killed:"; cat "$work/log"; exit 1; }
done

last=$(ls "$work/whole/checkpoints" | grep '^step-' | tail -1)
cmp "$work/whole/checkpoints/$last/model.safetensors" "$work/killed/checkpoints/$last/model.safetensors"
# Everything but the clock.
strip() { sed -E 's/"(seconds|steps_per_second)":[^,}]*,?//g' "$1/metrics.jsonl"; }
diff <(strip "$work/whole") <(strip "$work/killed")
find "$work/killed" -name '.*tmp*' | grep . && { echo "temporaries were left behind"; exit 1; }
echo "killed $killed times; $last is the same bit for bit, and so are the losses"
