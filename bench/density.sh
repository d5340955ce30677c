#!/usr/bin/env bash
# Learns the joint distribution of tables and prints a Markdown table of the nats per test row: segre with its default
# recipe, two exact models (a Chow-Liu tree, a mixture of products) and two transformers in PyTorch, each with its
# standard error.
#
#   bench/density.sh DIR [OUT]
#   LIMIT=300 DEVICE=cuda PYTHON=.venv/bin/python NAMES='nltcs plants' bench/density.sh DIR OUT
#
# DIR has NAME.train.csv.gz, NAME.valid.csv.gz and NAME.test.csv.gz, with headers, for every data set NAME. OUT (by
# default build/density) gets a folder of runs and logs for each, and results.jsonl, a line per result. What is there
# is not done again, so an interrupted benchmark continues; other settings need another OUT. With LIMIT=100 the
# trainings of a data set take 6 minutes; their scores come on top.
#
# A label that only the validation or test rows have is declared for training (dictionary=), so no row is left out.
# segre leaves missing cells out of the nats, the transformers do not: they are not run on tables with missing cells.
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "$0")")")

SEGRE=${SEGRE:-$root/build/segre}
DEVICE=${DEVICE:-cpu}
LIMIT=${LIMIT:-100}        # seconds of each training; the tree and the mixture get a third
ERROR=${ERROR:-0.05}       # standard error of estimation to reach, in nats per row
NAMES=${NAMES:-}           # by default all in DIR
MODELS=${MODELS:-tree mixture segre causal masked}  # the last two are transformers that need PyTorch
PYTHON=${PYTHON:-python3}

[ $# -eq 1 ] || [ $# -eq 2 ] || { echo 'usage: bench/density.sh DIR [OUT]' >&2; exit 2; }
data=$(realpath "$1")
out=$(realpath -m "${2:-$root/build/density}")
results=$out/results.jsonl
failed=0
if [ -z "$NAMES" ]; then
  for file in "$data"/*.train.csv.gz; do
    name=$(basename "$file" .train.csv.gz)
    if [ -e "$file" ] && [ -e "$data/$name.valid.csv.gz" ] && [ -e "$data/$name.test.csv.gz" ]; then NAMES+=" $name"; fi
  done
fi
[ -n "$NAMES" ] || { echo "bench/density.sh: $data has no NAME.train.csv.gz, .valid.csv.gz, .test.csv.gz" >&2; exit 2; }
wanted() { [[ " $MODELS " == *" $1 "* ]]; }
if { wanted causal || wanted masked; } && ! "$PYTHON" -c 'import torch' 2> /dev/null; then
  echo "bench/density.sh: $PYTHON has no PyTorch; choose another with PYTHON=, or MODELS='tree mixture segre'" >&2
  exit 2
fi
mkdir -p "$out"
touch "$results"

# known NAME MODEL BOUND: whether the result is there.
known() { grep -qF "{\"name\": \"$1\", \"model\": \"$2\", \"bound\": \"$3\"" "$results"; }

# keep LOG COMMAND...: what it prints, and its time in $took. A failure is reported and the benchmark continues; a signal
# ends it.
keep() {
  local log=$1 start=$SECONDS status=0
  shift
  { printf '$ %s\n' "$*"; "$@"; } > "$log" 2>&1 || status=$?
  took=$((SECONDS - start))
  [ $status -ne 0 ] || return 0
  [ $status -ne 130 ] && [ $status -ne 143 ] || exit $status
  echo "bench/density.sh: failed, see $log: $(tail -n 1 "$log" | cut -c1-300)" >&2
  failed=1
  return 1
}

# add LINE: a result.
add() { printf '%s\n' "$1" | tee -a "$results" >&2; }

# describe NAME: its sizes; writes labels.csv if training has to be told of labels.
describe() {
  ! known "$1" data none || return 0
  keep "$out/$1/data.log" "$PYTHON" "$root/bench/density.py" --describe "$data" "$1" "$out/$1/labels.csv" || return 1
  add "$(tail -n 1 "$out/$1/data.log")"
}

# train NAME MODEL LIMIT OPTIONS...
train() {
  local name=$1 model=$2 limit=$3 run=$out/$1/$2 source=csv:$data/$1.train.csv.gz
  shift 3
  [ ! -e "$run.seconds" ] || return 0
  [ ! -e "$out/$name/labels.csv" ] || source+="?dictionary=$out/$name/labels.csv"
  rm -rf "$run"  # of a training that did not finish
  keep "$run.log" "$SEGRE" train --data "$source" --set data.validation="csv:$data/$name.valid.csv.gz" "$@" \
    --out "$run" --max-time "${limit}s" --device "$DEVICE" || return 1
  echo "$took" > "$run.seconds"
}

# score NAME MODEL BOUND: a result for a model that is trained.
score() {
  local run=$out/$1/$2 log=$out/$1/$2.$3.log nats error network
  keep "$log" "$SEGRE" likelihood "$run" --data "csv:$data/$1.test.csv.gz" --bound "$3" --error "$ERROR" \
    --device "$DEVICE" || return 0
  nats=$(sed -nE 's/^-log p per item (at most|about) ([^ ]+) nats.*/\2/p' "$log")
  error=$(sed -nE 's/.*; ([^ ]+) for the population.*/\1/p' "$log")
  network=$(sed -nE 's/^network +//p' "$run.log" | tail -n 1)
  if [ -z "$nats" ] || [ -z "$error" ]; then
    echo "bench/density.sh: no nats in $log" >&2
    failed=1
    return 0
  fi
  add "{\"name\": \"$1\", \"model\": \"$2\", \"bound\": \"$3\", \"nats\": $nats, \"error\": $error,\
 \"seconds\": $(cat "$run.seconds"), \"scoring\": $took, \"network\": \"$network\", \"device\": \"$DEVICE\"}"
}

# segre_model NAME MODEL LIMIT 'BOUND...' OPTIONS...: trains it unless all results are there.
segre_model() {
  local name=$1 model=$2 limit=$3 bounds=$4 bound
  shift 4
  for bound in $bounds; do
    known "$name" "$model" "$bound" && continue
    train "$name" "$model" "$limit" "$@" || return 0
    score "$name" "$model" "$bound"
  done
}

# peer NAME causal|masked BOUND
peer() {
  local log=$out/$1/$2.log
  ! known "$1" "$2" "$3" || return 0
  keep "$log" "$PYTHON" "$root/bench/density_peer.py" "$data" "$1" "$2" --seconds "$LIMIT" --device "$DEVICE" ||
    return 0
  add "$(tail -n 1 "$log" | sed "s/\"peer\": \"$2\"/\"model\": \"$2\", \"bound\": \"$3\"/")"
}

third=$(((LIMIT + 2) / 3))
for name in $NAMES; do
  mkdir -p "$out/$name"
  describe "$name" || continue
  ! wanted tree || segre_model "$name" tree "$third" 'free order' --set net.kind=tree
  ! wanted mixture || segre_model "$name" mixture "$third" free --set net.kind=latent_class
  ! wanted segre || segre_model "$name" segre "$LIMIT" 'free order'
  wanted causal || wanted masked || continue
  if ! grep -F "{\"name\": \"$name\", \"model\": \"data\"" "$results" | grep -qF '"missing": 0}'; then
    echo "bench/density.sh: $name has missing cells: no transformers" >&2
    continue
  fi
  ! wanted causal || peer "$name" causal exact
  ! wanted masked || peer "$name" masked order
done
"$PYTHON" "$root/bench/density.py" "$results"
exit $failed
