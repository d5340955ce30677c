#!/usr/bin/env bash
# Installs segre into a scratch prefix, builds examples/consumer against it with find_package, and runs it.
#   consumer_test.sh BUILD SOURCE
set -euo pipefail
build=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/prefix" > "$scratch/log" || { cat "$scratch/log"; exit 1; }
cmake -G Ninja -S "$source/examples/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release > "$scratch/log" || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/build" > "$scratch/log" || { cat "$scratch/log"; exit 1; }
said=$("$scratch/build/consumer")
echo "consumer: $said"
# 500 steps are enough for an order of magnitude below the 0.4 of independent variables.
awk -v said="$said" 'BEGIN { split(said, word, " "); exit !(word[3] > 0 && word[3] < 0.04) }'
# The installed program finds its files.
"$scratch/prefix/bin/segre" doctor | grep -q "plotly.js  $scratch/prefix/share/segre/plotly.min.js"
echo "installed program: ok"
