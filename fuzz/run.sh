#!/usr/bin/env bash
# Runs every fuzz target, or those named, for SECONDS each, starting from the corpus that earlier runs have left in
# BUILD/corpus; prints executions and coverage. Exits with 1 if something is found; the input is kept in BUILD/findings.
#
#   fuzz/run.sh BUILD SECONDS [TARGET...]
set -euo pipefail
build=$1 seconds=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(run tensors table picture maps array config)

# `make asan` checks for leaks: here the allocations that LibTorch keeps for each operator would be reported as leaks.
# Short contexts and a small quarantine make it faster.
export ASAN_OPTIONS="detect_leaks=0:malloc_context_size=4:quarantine_size_mb=8:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-}"
export OMP_NUM_THREADS=1
mkdir -p "$build/corpus" "$build/findings" "$build/logs"
"$build/fuzz_seeds" "$build/corpus"

# Longer inputs only run slower: these lengths hold every seed twice.
declare -A longest=([run]=6000 [tensors]=2500 [table]=500 [picture]=800 [maps]=800 [array]=500 [config]=2500)

# The last number after a word in a log.
last() { grep -oE "$1:? +[0-9]+" "$2" | tail -1 | grep -oE '[0-9]+$' || echo 0; }

found=0
rows=()
for target in "${targets[@]}"; do
  log=$build/logs/$target.log
  code=0
  # No input may make a reader allocate much: 64 MB at once is a finding, since readers see 1 MB of free memory.
  "$build/fuzz_$target" "$build/corpus/$target" -dict="$here/words.dict" -artifact_prefix="$build/findings/$target-" \
    -max_total_time="$seconds" -timeout=10 -malloc_limit_mb=64 -rss_limit_mb=3000 -max_len="${longest[$target]}" \
    -print_final_stats=1 -print_funcs=0 -entropic=0 >"$log" 2>&1 </dev/null || code=$?
  verdict=clean
  if [ "$code" != 0 ]; then
    found=1
    verdict="FOUND, see $log"
  fi
  rows+=("$(printf '%-8s %12s %8s %7s %7s  %s' "$target" "$(last stat::number_of_executed_units "$log")" \
    "$(last stat::average_exec_per_sec "$log")" "$(last cov "$log")" "$(last ft "$log")" "$verdict")")
  printf '%s\n' "${rows[-1]}" >&2
done
printf '\n%-8s %12s %8s %7s %7s  %s\n' target executions exec/s cov ft result
printf '%s\n' "${rows[@]}"
exit $found
