#!/bin/sh
# Debian packages that some tests use: real peers of crosscut (sshd, Slurm). Installed where this is Debian or
# Ubuntu and we are root; elsewhere, or when it fails, the tests that need them are skipped and say so.
# Always succeeds. CROSSCUT_APT=0 switches it off.
# With `benchmark` as its word: those that `make bench` uses, with `fuzz`: those of `make fuzz`, in the same way.
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

# The tests start daemons of their own, on their own ports: the packages must start none. policy-rc.d is
# Debian's way to say so; one that is already there is left alone.
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
  # One that this release lacks must not cost the others.
  for package in $missing; do
    install "$package" || echo "make: what needs $package will be skipped: $(grep -m1 '^E:' "$log")"
  done
fi
rm -f "$log"
exit 0
