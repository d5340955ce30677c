#!/usr/bin/env bash
# Every command that has an --out, with --out in every form: prints a table of the exit code, when it failed (before or
# after the work) and what is left behind. Fails if a wrong --out is found only after the work, or if anything
# unfinished is left.
#
#   tests/cli/out_forms.sh PROGRAM [SECONDS]
#
# Each form is tried twice: with work that never ends, stopped by SIGTERM after SECONDS (4), which shows whether the
# form is refused before the work and what a signal leaves; and, if it is not refused, with work that takes no time.
set -uo pipefail
program=$(realpath "$1") patience=${2:-4}
work=$(mktemp -d)
chmod 755 "$work"
full=$work/full
cleanup() { mountpoint -q "$full" && umount "$full"; rm -rf "$work"; }
trap cleanup EXIT
export OMP_NUM_THREADS=1
tiny=(--set net.kind=mlp --set 'net.hidden=[8]' --set train.batch=64)
run=$work/run
"$program" train --data coupled --out "$run" "${tiny[@]}" --set train.steps=3 2>"$work/log" || { cat "$work/log"; exit 1; }
# A run that never loads and a download that never comes: their files are pipes without a writer.
cp -r "$run" "$work/endless_run"
for weights in "$work"/endless_run/checkpoints/step-*/model.safetensors; do rm "$weights" && mkfifo "$weights"; done
mkdir "$work/mirror" && mkfifo "$work/mirror/train-images-idx3-ubyte.gz" "$work/mirror/images_background_small1.zip"
chmod -R a+rX "$work"
# A disk of 64 KiB, filled up.
mkdir "$full"
mount -t tmpfs -o size=64k,mode=777 tmpfs "$full" 2>/dev/null && mountpoint -q "$full" && have_full=1 || have_full=0
[ "$have_full" = 1 ] && head -c 100000 /dev/zero >"$full/filler" 2>/dev/null
# Root can write read-only folders, so those forms run as nobody.
as_nobody=()
[ "$(id -u)" = 0 ] && as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# arguments COMMAND WORK: what comes before --out; WORK is endless or short.
arguments() {
  local r=$run n
  case $1:$2 in
    train:endless) args=(train --data coupled "${tiny[@]}" --set train.steps=1000000000) ;;
    train:short) args=(train --data coupled "${tiny[@]}" --set train.steps=2) ;;
    sample:endless) args=(sample "$r" --count 1000000000) ;;
    sample:short) args=(sample "$r" --count 3) ;;
    samplers:endless) args=(samplers "$r" --count 100000000) ;;
    samplers:short) args=(samplers "$r" --count 4 --reference-steps 8 --most 4) ;;
    likelihood:endless) args=(likelihood "$r" --enumerate --times 400000000) ;;
    likelihood:short) args=(likelihood "$r" --enumerate --samples 0) ;;
    ood:endless) args=(ood "$r" --inside coupled --outside coupled --items 100000000) ;;
    ood:short) args=(ood "$r" --inside coupled --outside coupled --items 9 --calibration 9) ;;
    outliers:endless) args=(outliers "$r" --data coupled --items 9 --error 1e-9 --times 400000000) ;;
    outliers:short) args=(outliers "$r" --data coupled --items 9 --calibration 9 --error 1) ;;
    evaluate:endless) args=(evaluate "$r" --data coupled --count 1000000000) ;;
    evaluate:short) args=(evaluate "$r" --data coupled --count 9 --items 9) ;;
    convergence:endless) args=(convergence "$r" --data coupled --draws 1000000000) ;;
    convergence:short) args=(convergence "$r" --data coupled --items 2 --draws 4) ;;
    export:endless) args=(export "$work/endless_run") ;;
    export:short) args=(export "$r") ;;
    demo:endless) args=(demo --max-time 10h) ;;
    demo:short) args=(demo --max-time 1s --count 100) ;;
    inspect:endless) args=(data inspect streets --items 100000000) ;;
    inspect:short) args=(data inspect coupled --items 10) ;;
    fetch:*) args=(data fetch mnist --mirror "file://$work/mirror") ;;
  esac
}

# place FORM KIND: makes a scratch folder $at with the form's surroundings and sets $out.
place() {
  at=$work/at
  rm -rf "$at"; mkdir -m 777 "$at"
  local name=x
  [ "$2" = file ] && name=x.csv
  out=$at/$name
  case $1 in
    "new") ;;
    "trailing slash") out=$out/ ;;
    "missing folder") out=$at/no/$name ;;
    "read-only") mkdir "$at/ro" && chmod 555 "$at/ro" && out=$at/ro/$name ;;
    "symlink") out=$at/link.csv; if [ "$2" = file ]; then echo old >"$at/real.csv"; ln -s real.csv "$out"; else out=$at/link; mkdir -m 777 "$at/real"; ln -s real "$out"; fi ;;
    "-") out=- ;;
    "/dev/full") out=/dev/full ;;
    "/dev/null") out=/dev/null ;;
    "pipe") out=$at/p; mkfifo -m 666 "$out" ;;
    "existing file") echo old >"$out" && chmod 666 "$out" ;;
    "existing folder") mkdir -m 777 "$out" && echo mine >"$out/mine.txt" ;;
    "full disk") rm -rf "$full"/x*; out=$full/$name ;;
  esac
}

# attempt WORK: runs the command on $out; sets $code.
attempt() {
  arguments "$command" "$1"
  local option=--out reader= user=()
  [ "$command" = fetch ] && option=--to
  [ "$form" = pipe ] && { timeout 60 cat "$out" >"$work/piped" & reader=$!; }
  [ "$form" = read-only ] && user=(${as_nobody[@]+"${as_nobody[@]}"})
  ( cd "$at" && timeout --preserve-status -s TERM "$([ "$1" = endless ] && echo "$patience" || echo 300)" \
      ${user[@]+"${user[@]}"} "$program" "${args[@]}" $option "$out" >"$work/stdout" 2>"$work/err" )
  code=$?
  [ -n "$reader" ] && { kill "$reader" 2>/dev/null; wait "$reader" 2>/dev/null; }
}

# The current contents of the scratch folder (and the full disk), in one line.
left() {
  { (cd "$at" && find . -mindepth 1 -maxdepth "${1:-9}" \( ! -type d -printf '%P\n' -o -printf '%P/\n' \))
    [ "$form" = "full disk" ] && (cd "$full" && find . -mindepth 1 ! -name filler -printf 'full/%P\n'); } |
    sort | tr '\n' ' '
}

failed=0
complain() { echo "  WRONG: $1"; failed=$((failed + 1)); }
printf '%-12s %-16s %-5s %-22s %s\n' command form exit when "left behind"
for command in train sample samplers likelihood ood outliers evaluate convergence export demo inspect fetch; do
  case $command in sample | likelihood | outliers) kind=file ;; *) kind=folder ;; esac
  for form in "new" "trailing slash" "missing folder" "read-only" "symlink" "-" "/dev/full" "/dev/null" "pipe" \
              "existing file" "existing folder" "full disk"; do
    if [ "$form" = "full disk" ] && [ "$have_full" = 0 ]; then
      printf '%-12s %-16s %s\n' "$command" "$form" "skipped: no small disk could be mounted"
      continue
    fi
    place "$form" $kind
    before=$(left)
    attempt endless
    if [ "$code" != 143 ]; then
      when="before the work"
      [ "$code" = 0 ] && when="endless work ended?"
      [ "$before" = "$(left)" ] || complain "refused, but changed the folder"
      [ "$(wc -l <"$work/err")" = 1 ] || { complain "not one line:"; cat "$work/err"; }
    else
      signalled=$(left)
      case $command in train | demo) ;; *) [ "$before" = "$signalled" ] || complain "a signal left: $signalled" ;; esac
      if [ "$command" = fetch ]; then
        when="accepted"
      else
        place "$form" $kind
        attempt short
        when="-"
        [ "$code" = 0 ] || { when="AFTER THE WORK"; complain "$(cat "$work/err")"; }
      fi
    fi
    find "$at" "$full" -name '.*' | grep -q . && complain "unfinished: $(find "$at" "$full" -name '.*' | tr '\n' ' ')"
    [ -c /dev/null ] && [ -c /dev/full ] || complain "a device was replaced"
    case $code in 0 | 1 | 2 | 143) ;; *) complain "exit code $code" ;; esac
    printf '%-12s %-16s %-5s %-22s %s\n' "$command" "$form" "$code" "$when" "$(left 2)"
    [ "$when" = "before the work" ] && printf '%38s%s\n' "" "$(sed "s#$work/##g" "$work/err")"
  done
done
[ "$failed" = 0 ] && echo "all as it should be" || { echo "$failed wrong"; exit 1; }
