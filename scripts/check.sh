#!/usr/bin/env bash
# What contributors run before a release. Stops at the first part that fails, and prints the time of each. In a
# fresh clone warnings are errors; a build folder from before keeps what it was configured with.
#
#   scripts/check.sh [PART...]     parts: test lint cuda asan tsan fuzz mutants truth fresh packages
#                                  (default: all that can run here)
#
# fresh and packages need root and debootstrap, cuda needs nvcc: left out, and said to be, where they are missing. test
# with the newest LibTorch is a fresh machine's: SETTINGS=TORCH=2.15.0 scripts/fresh.sh debian13 test
set -euo pipefail
cd "$(dirname "$0")/.."
export CI=1  # warnings are errors

test_part() { make test; }
lint_part() { make lint; }
cuda_part() { cmake --preset cuda && cmake --build --preset cuda --target segre_tests segre_cli; }
asan_part() { make asan; }
tsan_part() { make tsan; }
fuzz_part() { make fuzz SECONDS=60; }
mutants_part() {
  local list
  for list in tests/mutants/*.toml; do scripts/mutants.py --mistakes "$list"; done
}
truth_part() { .venv/bin/python scripts/check_truth.py --seeds 100 --jobs "$(nproc)"; }
fresh_part() {
  local system
  for system in debian12 debian13 ubuntu24.04; do scripts/fresh.sh "$system" demo test; done
}

packages_part() {
  make deb wheel
  scripts/fresh.sh debian12 deb wheel
}

can_run() {
  case "$1" in
    cuda) command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ] ;;
    fresh|packages) [ "$(id -u)" = 0 ] && command -v debootstrap > /dev/null ;;
    *) declare -F "$1_part" > /dev/null || { echo "check.sh: unknown part '$1'" >&2; exit 2; } ;;
  esac
}

parts=("$@")
[ $# -gt 0 ] || parts=(test lint cuda asan tsan fuzz mutants truth fresh packages)
for part in "${parts[@]}"; do
  if ! can_run "$part"; then
    echo "check.sh: $part cannot run here and was left out"
    continue
  fi
  start=$SECONDS
  "${part}_part"
  echo "check.sh: $part passed in $((SECONDS - start)) s"
done
