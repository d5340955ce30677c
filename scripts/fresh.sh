#!/usr/bin/env bash
# Runs the README's commands as on a fresh machine: a bare root made by debootstrap with only make, git and sudo, an empty
# HOME, an ordinary user, a clone of the committed revision, and nothing beside it.
#
#   sudo scripts/fresh.sh debian12|debian13|ubuntu24.04 [demo|test] ...     default: demo test
#
# FRESH=DIR (/var/tmp/segre-fresh) is where roots are kept: bare ones as archives, used again. MIRROR=URL uses another
# mirror of the distribution, CA=FILE trusts these certificates in addition. Prints how long each command took; what it
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
git clone --quiet --no-hardlinks . "$root/home/tester/segre"
chroot "$root" chown -R tester: /home/tester

# Certificates that pip is told of apart from the system's.
certificates=()
if [ -n "${CA:-}" ]; then certificates=(PIP_CERT=/etc/ssl/certs/ca-certificates.crt); fi
failed=0
for command in "${@:-demo test}"; do
  for target in $command; do
    log="$fresh/$system-$target.log"
    start=$SECONDS
    if chroot --userspec=tester: "$root" env -i HOME=/home/tester USER=tester PATH=/usr/local/bin:/usr/bin:/bin \
      "${certificates[@]}" make -C /home/tester/segre "$target" > "$log" 2>&1 < /dev/null; then
      result=works
    else
      result="FAILS, see $log"
      failed=1
    fi
    echo "$system: make $target $result, $((SECONDS - start)) s, $(du -sh "$root/home/tester" | cut -f1) in HOME"
  done
done
exit $failed
