#!/usr/bin/env bash
# Builds the tests with a sanitizer, in a separate build tree, and runs them. Any finding ends the test and fails it.
#
#   scripts/sanitize.sh asan [CMAKE OPTION...]   every test, for memory errors, leaks and undefined behaviour
#   scripts/sanitize.sh tsan [CMAKE OPTION...]   the multithreaded parts, for races
set -euo pipefail
cd "$(dirname "$0")/.."
kind=$1
shift
build=build-$kind
notes=$PWD/scripts/sanitizers
say() { printf '\033[1m== %s\033[0m\n' "$*"; }

case $kind in
  asan)
    # Leaks are checked when a test ends; lsan.txt lists what LibTorch never frees.
    export ASAN_OPTIONS="halt_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1:detect_leaks=1"
    export LSAN_OPTIONS="suppressions=$notes/lsan.txt:print_suppressions=0"
    export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
    select=()
    targets=(all)
    ;;
  tsan)
    # LibTorch is not instrumented: calls from inside it are not checked.
    export TSAN_OPTIONS="halt_on_error=1:ignore_noninstrumented_modules=1:suppressions=$notes/tsan.txt"
    select=(-L threads)
    targets=(segre_tests)
    ;;
  *) echo "sanitize.sh: unknown sanitizer '$kind' (asan, tsan)" >&2; exit 2 ;;
esac

say "configure ($kind, $build/)"
mkdir -p "$build"
cmake --preset "$kind" "$@" >"$build/configure.log" 2>&1 || { cat "$build/configure.log"; exit 1; }
say "build"
cmake --build "$build" --target "${targets[@]}"
say "test under $kind"
ctest --test-dir "$build" "${select[@]}" --output-on-failure --parallel 2 | tee "$build/tests.log"
printf '%s: %s\n' "$kind" "$(grep -E 'tests passed' "$build/tests.log")"
