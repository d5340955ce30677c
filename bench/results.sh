#!/usr/bin/env bash
# Runs the commands behind the figures of docs/results.md and keeps what they print, a file each. Parts:
#   toys oracle                                       on the CPU, two cores: 9 minutes
#   likelihood evidence ood samplers evaluate convergence    models/mnist on a GPU: 8 minutes
#   mnist paper-mnist streets                         trainings on a GPU: 4 minutes each
# Speed is measured by bench/run.sh, bench/unet.sh and bench/score_peer.py.
#
#   bench/results.sh SEGRE DATA OUT PART...           DATA has the files of 'segre data fetch mnist' and 'omniglot'
set -euo pipefail
segre=$(realpath "$1") data=$(realpath "$2") out=$3
shift 3
cd "$(dirname "$0")/.."
mkdir -p "$out"
out=$(realpath "$out")
test="idx:$data/t10k-images-idx3-ubyte.gz?pad=2" train="idx:$data/train-images-idx3-ubyte.gz?pad=2"
characters="omniglot:$data/images_background_small1.zip?pad=2"

# keep NAME COMMAND...: its output, and how long it took.
keep() {
  local name=$1 start=$SECONDS
  shift
  { printf '$ %s\n' "$*"; "$@"; } > "$out/$name.log" 2>&1 || { cat "$out/$name.log"; exit 1; }
  printf 'wall time %s s\n' $((SECONDS - start)) >> "$out/$name.log"
  printf '%-20s %4s s  %s\n' "$name" $((SECONDS - start)) "$(grep -v '^wall' "$out/$name.log" | tail -1 | cut -c1-100)"
}
toy() {
  local name=$1 steps=$2
  shift 2
  keep "$name.train" "$segre" train "$@" --out "$out/runs/$name"
  keep "$name.sample" "$segre" sample "$out/runs/$name" --count 1000000 --out "$out/runs/$name.npy" $steps
}
likelihood() {
  keep "likelihood.$1" "$segre" likelihood models/mnist --data "$test" --device cuda "${@:2}"
}

for part in "$@"; do
  case $part in
    toys)
      toy coupled '' configs/coupled.toml
      toy paper-coupled '' configs/paper/coupled.toml
      toy mixture '--steps 4' --data mixture --max-time 60s
      toy paper-mixture '' configs/paper/mixture.toml
      toy pinwheel '--steps 4' --data pinwheel --max-time 60s
      toy paper-pinwheel '' configs/paper/pinwheel.toml
      toy weather '' --data joint:examples/weather.csv --max-time 60s ;;
    oracle) keep oracle "$segre" oracle --labels 2,2,2,2,2,2 ;;
    likelihood)
      for seed in 1 2 3; do likelihood free.$seed --error 0.05 --seed $seed; done
      likelihood free.64 --times 64
      likelihood free.4096 --items 30 --times 4096 --precision float32
      likelihood free.1024 --items 300 --times 1024 --precision float32
      likelihood path.exact --items 30 --bound path --draws 2
      likelihood path.hutchinson --items 30 --bound path --trace hutchinson --draws 32
      likelihood path.lattice --items 300 --bound path --trace lattice --draws 1
      likelihood ball --items 30 --bound ball --draws 2 ;;
    evidence)
      likelihood order --bound order --times 64
      likelihood order.random --bound order --order random --items 300
      for half in upper lower; do
        likelihood $half --times 64 --only $half
        likelihood given.$half --times 64 --given $half
      done
      keep halves "$segre" complete models/mnist --data "$test" --given upper --items 16 --draws 8 --device cuda \
        --out "$out/halves.png"
      keep halves.rate "$segre" complete models/mnist --data "$test" --given upper --device cuda --out "$out/halves.npy"
      keep erasure "$segre" sample models/mnist --count 64 --sampler erasure --steps 20 --device cuda \
        --out "$out/erasure.png" ;;
    ood) keep ood "$segre" ood models/mnist --inside "$test" --outside "$characters" --train "$train" --items 0 \
      --times 64 --device cuda --out "$out/ood" ;;
    samplers) keep samplers "$segre" samplers models/mnist --count 256 --data "$test" --device cuda --out "$out/samplers" ;;
    evaluate) keep evaluate "$segre" evaluate models/mnist --data "$test" --train "$train" --count 10000 --device cuda \
      --out "$out/evaluation" ;;
    convergence) keep convergence "$segre" convergence models/mnist --data "$test" --device cuda --out "$out/convergence" ;;
    mnist) keep mnist "$segre" train configs/mnist.toml --data "$train" --set data.validation="$test" --device cuda \
      --out "$out/runs/mnist" ;;
    paper-mnist) keep paper-mnist "$segre" train configs/paper/mnist.toml --data "$train" \
      --set data.validation="$test" --device cuda --out "$out/runs/paper-mnist" ;;
    streets) keep streets "$segre" train configs/streets.toml --device cuda --max-time 240s --out "$out/runs/streets" ;;
    *) echo "bench/results.sh: no part is called $part" >&2; exit 2 ;;
  esac
done
