#!/usr/bin/env bash
# The same faults as save_faults.cpp (see faults.h) in the program itself, by LD_PRELOAD: trains with the K-th system
# call on the run directory going wrong, for every K and every kind of fault. After each fault the run must load, resume
# and end bit for bit like an undisturbed one.
#
#   tests/crash/program_faults.sh PROGRAM FAULTS.so [EVERY] [KIND...]
set -euo pipefail
program=$1 faults=$2 every=${3:-1}
shift $(($# < 3 ? $# : 3))
kinds=("${@:-}"); [ -n "${kinds[0]}" ] || kinds=(kill torn ENOSPC full EIO)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run=$work/run
train=("$program" train --data coupled --set net.kind=mlp --set 'net.hidden=[8]' --set train.batch=32
       --set train.steps=12 --set watch.every=4 --set watch.keep=1 --set watch.items=16)
export OMP_NUM_THREADS=1

faulty() {  # AT KIND: trains into $run with that fault
  SEGRE_FAULT_UNDER=$run SEGRE_FAULT_AT=$1 SEGRE_FAULT_KIND=$2 SEGRE_FAULT_LOG=$work/calls LD_PRELOAD=$faults \
    "${train[@]}" --out "$run" 2>"$work/log" && code=0 || code=$?
}
strip() { sed -E 's/"(seconds|steps_per_second)":[^,}]*,?//g' "$1/metrics.jsonl"; }
wrong() { echo "$kind at call $at ($(sed -n "${at}p" "$work/calls.all")): $1"; cat "$work/log"; failed=$((failed + 1)); }

"${train[@]}" --out "$work/whole" 2>"$work/log" || { cat "$work/log"; exit 1; }
faulty 0 none
mv "$work/calls" "$work/calls.all"
calls=$(wc -l <"$work/calls.all")
echo "$calls system calls on the run directory:" $(cut -d' ' -f2 "$work/calls.all" | sort | uniq -c | sort -rn)
tried=0 failed=0
for kind in "${kinds[@]}"; do
  for ((at = 1; at <= calls; at += every)); do
    rm -rf "$run"
    faulty "$at" "$kind"
    tried=$((tried + 1))
    case $code in 0 | 1 | 137) ;; *) wrong "exit code $code"; continue ;; esac
    if [ "$code" != 137 ] && find "$run" -name '.*.tmp-*' 2>/dev/null | grep -q .; then wrong "temporaries left"; fi
    resume=()
    if ls "$run/checkpoints" 2>/dev/null | grep -qE '^step-[0-9]{13}$'; then
      resume=(--resume)
      "$program" sample "$run" --count 1 --steps 1 --out /dev/null 2>"$work/log" || { wrong "does not load"; continue; }
    fi
    "${train[@]}" --out "$run" ${resume[@]+"${resume[@]}"} 2>"$work/log" || { wrong "does not resume"; continue; }
    diff -r "$work/whole/checkpoints" "$run/checkpoints" >"$work/log" || wrong "other checkpoints"
    diff <(strip "$work/whole") <(strip "$run") >"$work/log" || wrong "other losses"
    if find "$run" -name '.*' -mindepth 1 | grep -q .; then wrong "something unfinished is left"; fi
  done
  echo "$kind: done"
done
echo "$tried points tried, $failed wrong"
[ "$failed" = 0 ]
