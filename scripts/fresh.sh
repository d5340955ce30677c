#!/usr/bin/env bash
# Runs the README's commands as on a fresh machine: a bare root made by debootstrap with only make, git and sudo, an empty
# HOME, an ordinary user, a clone of the committed revision, and nothing beside it.
#
#   sudo scripts/fresh.sh debian12|debian13|ubuntu24.04 [demo|test|deb|wheel] ...     default: demo test
#
# deb and wheel install what 'make deb' and 'make wheel' wrote into dist/, and use it.
#
# FRESH=DIR (/var/tmp/segre-fresh) is where roots are kept: bare ones as archives, used again. MIRROR=URL uses another
# mirror of the distribution, CA=FILE trusts these certificates in addition. PLACE=NAME (segre) is the clone's folder in
# HOME, SETTINGS='TZ=Asia/Kathmandu ...' what make finds in its environment, UMASK=077 its umask. Prints how long each command took; what it
# printed is in DIR/SYSTEM-COMMAND.log.
set -euo pipefail
cd "$(dirname "$0")/.."

system="${1:-}"
case "$system" in
  debian12) suite=bookworm mirror=http://deb.debian.org/debian components=main ;;
  debian13) suite=trixie mirror=http://deb.debian.org/debian components=main ;;
  ubuntu24.04) suite=noble mirror=http://archive.ubuntu.com/ubuntu components=main,universe ;;
  *) echo "fresh.sh: expected debian12, debian13 or ubuntu24.04, and then demo or test, found '$system'" >&2; exit 2 ;;
esac
shift
[ "$(id -u)" = 0 ] || { echo "fresh.sh: debootstrap and chroot need root: sudo $0 $system $*" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh.sh: needs debootstrap: sudo apt-get install debootstrap" >&2; exit 2; }
mirror="${MIRROR:-$mirror}"
fresh="${FRESH:-/var/tmp/segre-fresh}"
root="$fresh/$system"
bare="$fresh/$system.tar"

make_bare() {
  local scripts=/usr/share/debootstrap/scripts script=() unsigned=()
  # An older debootstrap knows neither newer releases, which it would make like those before, nor the others' keys.
  if [ ! -e "$scripts/$suite" ]; then script=("$scripts/$([ "${system%%[0-9]*}" = ubuntu ] && echo gutsy || echo sid)"); fi
  if [ "${system%%[0-9]*}" = ubuntu ] && [ ! -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ]; then unsigned=(--no-check-gpg); fi
  debootstrap --variant=minbase --include=make,git,ca-certificates,sudo --components="$components" "${unsigned[@]}" \
    "$suite" "$root" "$mirror" "${script[@]}" > "$fresh/$system-debootstrap.log"
  if [ -n "${CA:-}" ]; then cp "$CA" "$root/usr/local/share/ca-certificates/extra.crt"; chroot "$root" update-ca-certificates > /dev/null; fi
  chroot "$root" useradd --create-home --shell /bin/bash tester
  echo 'tester ALL=(ALL) NOPASSWD: ALL' > "$root/etc/sudoers.d/tester"
  tar -C "$root" -cf "$bare.new" . && mv "$bare.new" "$bare"
}

unmount() { umount -l "$root/proc" 2>/dev/null || true; }

mkdir -p "$fresh"
trap unmount EXIT
unmount
rm -rf --one-file-system "$root"
mkdir -p "$root"
if [ -e "$bare" ]; then tar -C "$root" -xf "$bare"; else make_bare; fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
place="/home/tester/${PLACE:-segre}"
git clone --quiet --no-hardlinks . "$root$place"
chroot "$root" chown -R tester: /home/tester

# Certificates that pip is told of apart from the system's.
certificates=()
if [ -n "${CA:-}" ]; then certificates=(PIP_CERT=/etc/ssl/certs/ca-certificates.crt); fi
read -ra settings <<< "${SETTINGS:-}"
failed=0

in_root() { chroot "$@" "$root" env -i HOME=/home/tester USER=tester PATH=/usr/local/bin:/usr/bin:/bin "${certificates[@]}" "${settings[@]}" bash -c "$script"; }

# What a user of the file types; nothing of the clone is used.
script_of() {
  local program='cd && segre train --data coupled --out run --max-time 5s && segre likelihood run --enumerate --out -'
  local python='import segre; print(segre.fit("coupled", max_time="5s", progress=False).sample(3))'
  case "$1" in
    demo|test) script="umask ${UMASK:-022}; make -C '$place' $1" ;;
    deb) cp dist/segre_*.deb "$root/tmp/"; script="sudo apt-get update -qq && sudo apt-get install -y -qq /tmp/segre_*.deb >/dev/null && $program" ;;
    wheel)
      cp dist/segre-*.whl "$root/tmp/"
      script="sudo apt-get update -qq && sudo apt-get install -y -qq python3-venv >/dev/null && cd && python3 -m venv venv &&
        venv/bin/pip install -q --no-deps torch==2.11.0 && venv/bin/pip install -q numpy 'cuda-toolkit[cudart,cupti]==13.0.2' &&
        venv/bin/pip install -q --no-deps /tmp/segre-*.whl && venv/bin/python -c '$python'" ;;
    *) echo "fresh.sh: expected demo, test, deb or wheel, found '$1'" >&2; exit 2 ;;
  esac
}

for command in "${@:-demo test}"; do
  for target in $command; do
    log="$fresh/$system-$target.log"
    script_of "$target"
    start=$SECONDS
    if in_root --userspec=tester: > "$log" 2>&1 < /dev/null; then
      result=works
    else
      result="FAILS, see $log"
      failed=1
    fi
    echo "$system: $target $result, $((SECONDS - start)) s, $(du -sh "$root/home/tester" | cut -f1) in HOME"
  done
done
exit $failed
