#!/usr/bin/env bash
# Runs a fixed set of commands with two builds of segre and compares what they give, bit by bit: checkpoints, samples,
# scores, tables and reports as numbers. For changes that must change no result.
#   scripts/same_bits.sh BEFORE/segre AFTER/segre
set -euo pipefail
before=$(realpath "$1") after=$(realpath "$2")
models=$(realpath "$(dirname "$0")/../models")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A table with dependent columns: weather, street, month and a number.
awk 'BEGIN {
  srand(7); print "sky,street,month,heat"
  for (k = 0; k < 1200; ++k) {
    sky = int(3 * rand()); wet = rand() < (sky == 2 ? 0.9 : 0.1); month = int(12 * rand())
    printf "%s,%s,m%d,%.1f\n", substr("sun   cloudsrain  ", 6 * sky + 1, 6), wet ? "wet" : "dry", month, 20 * rand() - sky
  }
}' | sed 's/ *,/,/' > "$scratch/table.csv"
printf 'a,b,p\nx,u,0.5\nx,v,0.125\ny,v,0.375\n' > "$scratch/joint.csv"

# Everything that is compared lies under out/; each file is the whole result of one command.
run_all() {
  local segre=$1 dir=$2
  mkdir -p "$dir/out"
  cp "$scratch/table.csv" "$scratch/joint.csv" "$dir"
  cd "$dir"
  local quick=(--set train.steps=60 --set train.batch=64 --threads 2)
  "$segre" train --data coupled --out pair "${quick[@]}"
  "$segre" train --data coupled --out mlp "${quick[@]}" --set net.kind=mlp 'net.hidden=[16]' model.form=endpoint
  "$segre" train --data joint:joint.csv --out ray "${quick[@]}" --set path.kind=ray train.objective=metric
  "$segre" train --data 'csv:table.csv?bins=heat:5' --out table "${quick[@]}" --set net.kind=mlp 'net.hidden=[32]'
  "$segre" train --data glyphs --out glyphs --set train.steps=3 train.batch=4 net.channels=8 watch.evaluations=8
  "$segre" train --data coupled --out paper "${quick[@]}" --set net.kind=linear model.form=velocity \
    train.objective=metric train.time_law=uniform
  for run in pair mlp ray table glyphs paper; do
    sha256sum "$run"/checkpoints/step-*/model.safetensors | sed 's,  .*/step-,  step-,' > "out/$run.checkpoints"
    grep -o '"loss":[^,]*\|"validation_nats":[^,}]*' "$run/metrics.jsonl" > "out/$run.losses"
  done
  "$segre" export pair --out exported
  sha256sum < "$(ls exported/checkpoints/step-*/model.safetensors)" > out/exported.sha
  for sampler in euler midpoint heun rk4 ab2 multistep dopri5 sde; do
    "$segre" sample pair --count 500 --sampler "$sampler" --out "out/pair.$sampler.csv"
  done
  "$segre" sample pair --count 300 --readout matched --set sample.stop=end --out out/pair.npy
  "$segre" sample table --count 300 --numbers --out out/table.csv
  "$segre" sample glyphs --count 6 --out out/glyphs.png
  "$segre" sample "$models/mnist" --count 2 --steps 4 --out out/mnist.png
  for bound in free path ball direct; do
    "$segre" likelihood mlp --data coupled --items 40 --bound $bound --out "out/mlp.$bound.csv"
  done
  "$segre" likelihood mlp --data coupled --items 40 --bound path --trace hutchinson --draws 8 --out out/mlp.hutchinson.csv
  "$segre" likelihood pair --enumerate --out out/pair.all.csv --samples 5000
  "$segre" likelihood ray --enumerate --out out/ray.all.csv --samples 5000
  "$segre" likelihood "$models/mnist" --data 'glyphs?pad=2' --items 2 --times 8 --out out/mnist.csv
  awk -F, -v OFS=, 'NR > 1 && NR % 5 == 0 { $2 = "" } NR > 1 && NR % 7 == 0 { $4 = "" } 1' table.csv > holes.csv
  "$segre" complete table --data csv:holes.csv --draws 2 --out out/completed.csv --probabilities out/probabilities.csv
  "$segre" complete table --data csv:holes.csv --best --given sky,month --items 90 --out out/best.csv
  "$segre" complete "$models/mnist" --data 'glyphs?pad=2' --items 2 --given upper --set sample.steps=2 --out out/halves.npy
  "$segre" predict table --data csv:holes.csv --column street --out out/predicted.csv
  "$segre" evaluate table --data csv:table.csv --count 200 --out evaluation
  "$segre" ood table --inside csv:table.csv --outside csv:table.csv --items 60 --calibration 64 --out ood
  "$segre" outliers table --data csv:table.csv --items 60 --calibration 64 --times 64 --out out/outliers.csv
  "$segre" samplers pair --count 200 --reference-steps 60 --most 16 --out samplers
  "$segre" convergence mlp --data coupled --items 6 --draws 24 --out convergence
  "$segre" oracle --labels 2,3 --times 256 --draws 4 --trajectories 2000 | sed '2,$s/ *[0-9.e-]*$//' > out/oracle.txt
  "$segre" data inspect csv:table.csv?bins=heat:5 --json > out/inspect.json
  cp ood/scores.csv samplers/samplers.csv convergence/convergence.csv out
  # The wording of these may change, their numbers may not.
  grep -oE -- '-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?' evaluation/metrics.csv > out/metrics.numbers
  grep -oE -- '-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?' ood/auroc.csv > out/auroc.numbers
}

# In the background: as a condition, it would not stop at a command that fails.
for build in before after; do
  (run_all "${!build}" "$scratch/$build") > "$scratch/$build.log" 2>&1 &
  wait $! || { tail -3 "$scratch/$build.log"; exit 1; }
done
n=$(find "$scratch/before/out" -type f | wc -l)
if diff -rq "$scratch/before/out" "$scratch/after/out"; then
  echo "all $n results are the same"
else
  echo "of $n results some differ" >&2
  [ -n "${KEEP:-}" ] && cp -r "$scratch" "$KEEP"
  exit 1
fi
