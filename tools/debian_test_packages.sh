#!/bin/sh
# Usage: debian_test_packages.sh [test|benchmark|fuzz]
# Installs the Debian packages that some tests (sshd, Slurm), `make bench` or `make fuzz` use, if this is Debian or
# Ubuntu and we are root. Otherwise, or if it fails, the tests that need them are skipped and say so.
# Always succeeds. CROSSCUT_APT=0 disables it.
set -u
what="${1:-test}"
list="$(dirname "$0")/../packaging/debian-$what-packages.txt"

skip() {
  echo "make: what needs $missing will be skipped: $1"
  exit 0
}

missing=
for package in $(sed 's/#.*//' "$list"); do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
missing="${missing# }"
[ -n "$missing" ] || exit 0

[ "${CROSSCUT_APT:-1}" != 0 ] || skip "CROSSCUT_APT=0"
command -v apt-get >/dev/null || skip "no apt-get here; install them as this system does"
[ "$(id -u)" = 0 ] || skip "not root; apt install $missing"

# The packages must start no daemons: the tests start their own, on their own ports. Debian's policy-rc.d
# prevents it; an existing one is left alone.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ] && printf '#!/bin/sh\nexit 101\n' 2>/dev/null >"$policy"; then
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi

log="$(mktemp)"
export DEBIAN_FRONTEND=noninteractive
install() {
  # shellcheck disable=SC2086  # a list of words
  apt-get -y -o DPkg::Lock::Timeout=120 install --no-install-recommends $1 >"$log" 2>&1
}
echo "make: installing $missing with apt-get"
if ! install "$missing" && ! { apt-get update >"$log" 2>&1 && install "$missing"; }; then
  # A package that this release lacks must not keep the others from being installed.
  for package in $missing; do
    install "$package" || echo "make: what needs $package will be skipped: $(grep -m1 '^E:' "$log")"
  done
fi
rm -f "$log"
exit 0
