#!/usr/bin/env bash
# Installs segre, moves the installation, removes what it knows about the build location, and builds and runs
# examples/consumer against it with find_package: no warnings, no build paths. Its main program is the C++ of README.md
# and docs/extending.md; session.cpp is what a server does.
#   consumer_test.sh BUILD SOURCE
set -euo pipefail
build=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/moved
say_and_fail() { cat "$scratch/log"; echo "$1" >&2; exit 1; }

"$source/scripts/readme_program.sh" "$source/README.md" "$source/docs/extending.md" | diff - "$source/examples/consumer/main.cpp" ||
  { echo "run: scripts/readme_program.sh README.md docs/extending.md > examples/consumer/main.cpp" >&2; exit 1; }

cmake --install "$build" --prefix "$scratch/first" > "$scratch/log" || say_and_fail "not installed"
mv "$scratch/first" "$prefix"
cp -r "$source/examples/consumer" "$scratch/consumer"
# Another machine: LibTorch is elsewhere, and nothing exists where segre was built.
torch=$(sed -n 's/^SEGRE_TORCH_DIR:[A-Z]*=//p' "$build/CMakeCache.txt")
ln -s "$(realpath "$torch")" "$scratch/libtorch"
grep -rlF "$torch" "$prefix/lib/cmake" | xargs sed -i "s|$torch|/nowhere/torch|"
for place in "$scratch/first" "$build" "$source"; do
  if grep -rnF "$place/" "$prefix/lib/cmake"; then echo "the package names $place" >&2; exit 1; fi
done

configure() {
  cmake -G Ninja -Wdev -S "$scratch/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release "$@" > "$scratch/log" 2>&1
}
if configure; then say_and_fail "found a LibTorch where there is none"; fi
grep -q "No LibTorch was found; set SEGRE_TORCH_DIR" "$scratch/log" || say_and_fail "the message does not say what to do"
configure -DSEGRE_TORCH_DIR="$scratch/libtorch" || say_and_fail "not configured"
if grep -iq warning "$scratch/log"; then say_and_fail "configured with warnings"; fi
cmake --build "$scratch/build" > "$scratch/log" || say_and_fail "not built"
if grep -F -e "$source/" -e "$scratch/first" -e /nowhere "$scratch/build/build.ninja"; then
  say_and_fail "the build uses the place where segre was built"
fi

cd "$scratch"
said=$("$scratch/build/consumer") || { echo "the consumer failed: $said" >&2; exit 1; }
echo "$said"
# A third of the items each: log 3 = 1.099 nats, and 500 steps come close.
awk '/^log p of an item:/ { found = $6 > -1.2 && $6 < -1.0 } END { exit !found }' <<< "$said"
grep -q "^loaded: step [1-9]" <<< "$said"
# The page's own network and path learn the same.
awk '/^on a circle:/ { found = $4 > -1.2 && $4 < -1.0 } END { exit !found }' <<< "$said"
# 15 of 36 rolls have the second one higher: 417 of 1000, with a standard deviation of 16.
awk '/^dice:/ { found = $2 > 340 && $2 < 490 } END { exit !found }' <<< "$said"
# The command line says in one line that it lacks the program's own network.
status=0
message=$("$prefix/bin/segre" sample runs/mine --count 1 --out samples.csv 2>&1) || status=$?
[ $status -eq 2 ] && [ "$(wc -l <<< "$message")" -eq 1 ] && grep -q 'net.custom = "two-layers"' <<< "$message" ||
  { echo "sampling a run with a network of its own: exit $status, $message" >&2; exit 1; }
# One model shared by four threads, with a deadline, answers as --json does.
"$prefix/bin/segre" train --data coupled --out runs/pair --set train.steps=40 net.kind=mlp 'net.hidden=[8]' 2> log ||
  say_and_fail "not trained"
printf 'y1,y2\n1,\n' > rows.csv
"$prefix/bin/segre" predict runs/pair --data csv:rows.csv --column y2 --json > expected.json
"$scratch/build/session" runs/pair y2 <<< '[{"y1": 1}]' > answers
head -n -1 answers | diff expected.json - || { echo "the session answers otherwise" >&2; exit 1; }
tail -n 1 answers | grep "^a row takes [0-9.]* ms (median), [0-9.]* ms (99%); [0-9]* MB$"
# Without CMake: a program built with what pkg-config says.
cat > "$scratch/small.cpp" <<'END'
#include <segre/core/version.h>
#include <cstdio>
int main() { std::printf("with pkg-config: %s\n", segre::release().c_str()); }
END
pc=$(find "$prefix" -name segre.pc)
if grep -q '^SEGRE_SANITIZE:[A-Z]*=address' "$build/CMakeCache.txt"; then
  echo "segre.pc is for builds without sanitizers"
elif command -v pkg-config > /dev/null; then
  flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=torch="$scratch/libtorch" --cflags --libs segre)
  # shellcheck disable=SC2086  # words
  c++ -std=c++20 "$scratch/small.cpp" $flags -o "$scratch/small"
  "$scratch/small"
else
  echo "pkg-config is not installed: segre.pc was not tried"
fi
# A prefix has what a C++ program or a user needs, once, and nothing of the Python package.
for file in bin/segre lib/libsegre.a include/segre/segre.h share/segre/models/mnist share/doc/segre/LICENSE; do
  [ -e "$prefix/$file" ] || { echo "$file is not installed" >&2; exit 1; }
done
if find "$prefix" -name '*.so*' -o -name '*.py*' | grep .; then echo "these do not belong there" >&2; exit 1; fi
# The installed program finds its files.
"$prefix/bin/segre" doctor | grep -q "plotly.js  $prefix/share/segre/plotly.min.js"
echo "installed program: ok"
