#!/usr/bin/env bash
# clang-tidy over the library and the command line. It parses LibTorch for each file (20 s), so only files that
# have changed since they were last clean are checked again.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-lint  # each file has a compile command of its own here, and nothing is compiled
stamps=$build/lint
cmake --preset cpu -B "$build" -DSEGRE_JOIN=OFF -DSEGRE_TESTS=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
  ${TORCH_DIR:+-DSEGRE_TORCH_DIR="$TORCH_DIR"} > /dev/null
cmake --build "$build" --target segre_revision > /dev/null
mkdir -p "$stamps"
# The compile commands have flags of GCC that clang does not know.
sed -E 's/-fno-math-errno//g' "$build/compile_commands.json" > "$stamps/compile_commands.json"
check() {
  local file=$1 stamp
  stamp=$stamps/$(echo "$file" | tr / _).$(cat .clang-tidy "$file" "${file%.cpp}.h" 2>/dev/null | sha1sum | cut -c1-16)
  [ -e "$stamp" ] && return
  clang-tidy --quiet -p "$stamps" "$file" 2>/dev/null && touch "$stamp"
}
export -f check
export stamps
git ls-files -co --exclude-standard 'segre/*.cpp' 'cli/*.cpp' | xargs -P "$(nproc)" -I{} bash -c 'check {}'
