"""A route that stops carrying data while both ends live: a firewall, a broken switch port."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from crosscut.base import core

# In its own network namespace: finds the data connection between ranks 1 and 2 of four, and redirects its
# traffic in one direction to a device that leads nowhere.
SCRIPT = r"""
set -eu
ip link set lo up
ip link add hole type veth peer name hole2
ip link set hole2 up
ip link set hole up
tc qdisc add dev lo clsact
"$1" run aapc -n 4 --size 1MB --repetitions 100000 --time-limit 60 --timeout 2 --out "$2" > "$3" &
session=$!
until grep -q progress "$3"; do sleep 0.2; kill -0 $session; done
ranks=($(ps -o pid= --ppid $session | sort -n))
there=$(ss -tnpH state established | grep "pid=${ranks[2]}," | awk '{print $3}')
ss -tnpH state established | grep "pid=${ranks[1]}," | awk '{print $3, $4}' | while read -r here far; do
  case " $(echo $there) " in *" $far "*) echo "${here##*:} ${far##*:}" ;; esac
done > "$3.routes"
while read -r from to; do
  tc filter add dev lo egress protocol ip prio 1 u32 \
    match ip sport "$from" 0xffff match ip dport "$to" 0xffff action mirred egress redirect dev hole
done < "$3.routes"
wait $session
"""


def can_make_a_hole() -> bool:
    tries = (
        "ip link set lo up && ip link add hole type veth peer name hole2 && ip link set hole up && "
        "tc qdisc add dev lo clsact && tc filter add dev lo egress protocol ip prio 1 u32 "
        "match ip sport 1 0xffff action mirred egress redirect dev hole"
    )
    if not all(map(shutil.which, ("unshare", "ip", "tc", "ss", "ps"))):
        return False
    return (
        subprocess.run(["unshare", "-rn", "sh", "-c", tries], capture_output=True, check=False).returncode
        == 0
    )


def test_a_route_that_stalls_is_named(tmp_path: Path) -> None:
    if not can_make_a_hole():
        pytest.skip("needs unshare, ip, tc and ss, and a kernel that redirects packets (act_mirred)")
    log = tmp_path / "events"
    words = [str(core.load().executable), str(tmp_path / "run.zarr"), str(log)]
    done = subprocess.run(
        ["unshare", "-rn", "bash", "-c", SCRIPT, "bash", *words],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    events = [json.loads(line) for line in log.read_text().splitlines()]
    errors = [event["message"] for event in events if event["event"] == "error"]
    assert done.returncode == 1, done.stderr
    assert len(errors) == 1
    assert "all ranks are alive, but none is making progress" in errors[0]
    # Which end starves depends on the moment: rank 2 lacks data of rank 1, or rank 1 lacks data that rank 2
    # cannot send without acknowledgements. Ranks that wait for one of the two may be named, too.
    starving = re.findall(r"rank (\d) on \S+ was receiving from rank (\d) on ", errors[0])
    assert set(starving) & {("2", "1"), ("1", "2")}, errors[0]
