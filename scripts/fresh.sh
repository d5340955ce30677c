#!/usr/bin/env bash
# Runs the README's commands as on a fresh machine: a bare root made by debootstrap with only make, git and sudo, an
# empty HOME, an ordinary user, a clone of the committed revision, and nothing beside it.
#
#   sudo scripts/fresh.sh debian12|debian13|ubuntu24.04 [demo|test|deb|wheel] ...     default: demo test
#
# deb and wheel install what 'make deb' and 'make wheel' wrote into dist/, and use it.
#
# FRESH=DIR (/var/tmp/segre-fresh) is where roots are kept: bare ones as archives, used again. MIRROR=URL uses another
# mirror of the distribution, CA=FILE trusts these certificates in addition. PLACE=NAME (segre) is the clone's folder in
# HOME, SETTINGS='TZ=Asia/Kathmandu ...' what the command finds in its environment, UMASK=077 its umask. Prints how long
# each command took; what it printed is in DIR/SYSTEM-COMMAND.log.
set -euo pipefail
cd "$(dirname "$0")/.."

system="${1:-}"
case "$system" in
  debian12) suite=bookworm mirror=http://deb.debian.org/debian components=main ;;
  debian13) suite=trixie mirror=http://deb.debian.org/debian components=main ;;
  ubuntu24.04) suite=noble mirror=http://archive.ubuntu.com/ubuntu components=main,universe ;;
  *) echo "fresh.sh: expected debian12, debian13 or ubuntu24.04, found '$system'" >&2; exit 2 ;;
esac
shift
[ $# -gt 0 ] || set -- demo test
for command in "$@"; do
  [[ " demo test deb wheel " == *" $command "* ]] ||
    { echo "fresh.sh: expected demo, test, deb or wheel, found '$command'" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "fresh.sh: debootstrap and chroot need root: sudo $0 $system $*" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh.sh: needs debootstrap: sudo apt-get install debootstrap" >&2; exit 2; }
mirror="${MIRROR:-$mirror}"
fresh="${FRESH:-/var/tmp/segre-fresh}"
root="$fresh/$system"
bare="$fresh/$system.tar"

make_bare() {
  local scripts=/usr/share/debootstrap/scripts script=() unsigned=()
  # An older debootstrap knows neither newer releases, which it would make like those before, nor the others' keys.
  local like=sid
  if [ "$system" = ubuntu24.04 ]; then
    like=gutsy
    [ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ] || unsigned=(--no-check-gpg)
  fi
  if [ ! -e "$scripts/$suite" ]; then script=("$scripts/$like"); fi
  debootstrap --variant=minbase --include=make,git,ca-certificates,sudo --components="$components" \
    "${unsigned[@]}" "$suite" "$root" "$mirror" "${script[@]}" > "$fresh/$system-debootstrap.log"
  if [ -n "${CA:-}" ]; then
    cp "$CA" "$root/usr/local/share/ca-certificates/extra.crt"
    chroot "$root" update-ca-certificates > /dev/null
  fi
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

in_root() {
  chroot --userspec=tester: "$root" env -i HOME=/home/tester USER=tester PATH=/usr/local/bin:/usr/bin:/bin \
    "${certificates[@]}" "${settings[@]}" bash -c "$1"
}

# bring FILES: the newest of them, readable for all, in the root's /tmp under its own name; sets $file.
bring() {
  file=$(ls -t "$@" 2>/dev/null | head -1)
  [ -n "$file" ] || { echo "fresh.sh: $1 is not there: run 'make $command' first" >&2; exit 2; }
  install -m 644 "$file" "$root/tmp/"
  file=/tmp/$(basename "$file")
}

install_deb="sudo apt-get update -qq && sudo DEBIAN_FRONTEND=noninteractive apt-get install -y -qq"
use_program='cd && segre train --data coupled --out run --max-time 5s && segre likelihood run --enumerate --out -'
# The small set of packages for the CPU, as in docs/python.md.
install_wheel='cd && python3 -m venv venv &&
  torch=$(unzip -p "$0" "*/METADATA" | sed -n "s/^Requires-Dist: \(torch==.*\)/\1/p") &&
  venv/bin/pip install -q --no-deps "$torch" numpy &&
  toolkit=$(sed -n "s/^Requires-Dist: cuda-toolkit\[[^]]*\]==\([0-9.]*\).*/\1/p" venv/lib/*/site-packages/torch-*/METADATA) &&
  venv/bin/pip install -q "cuda-toolkit[cudart,cupti]==$toolkit" && venv/bin/pip install -q --no-deps "$0"'
use_python='import segre; print(segre.fit("coupled", max_time="5s", progress=False).sample(3))'

# What a user types; of deb and wheel, nothing of the clone is used. Sets $script.
script_of() {
  case "$1" in
    demo|test) printf -v script 'make -C %q %s' "$place" "$1" ;;
    deb) bring dist/segre_*.deb; script="$install_deb $file >/dev/null && $use_program" ;;
    wheel)
      bring dist/segre-*.whl
      printf -v script '%s python3-venv unzip >/dev/null && bash -c %q %s && ~/venv/bin/python -c %q' \
        "$install_deb" "$install_wheel" "$file" "$use_python" ;;
  esac
  script="umask ${UMASK:-022}; $script"
}

for command in "$@"; do
  log="$fresh/$system-$command.log"
  script_of "$command"
  start=$SECONDS
  if in_root "$script" > "$log" 2>&1 < /dev/null; then
    result=works
  else
    result="FAILS, see $log"
    failed=1
  fi
  echo "$system: $command $result, $((SECONDS - start)) s, $(du -sh "$root/home/tester" | cut -f1) in HOME"
done
exit $failed
