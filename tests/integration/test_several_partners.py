"""Findings of patterns in which a host sends several messages at once, which share its link."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import crosscut

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.base.core import CORE, find_executable
from crosscut.run.run import Run

pytestmark = pytest.mark.skipif(find_executable(CORE) is None, reason="crosscut-core is not built")
_NETWORK = """
[[hosts]]
names = "n[01-12]"
[[switches]]
names = "leaf[1-2]"
[[switches]]
names = "root"
level = 1
[[links]]
between = ["n[01-06]", "leaf1"]
rate = "10 Gbit/s"
[[links]]
between = ["n[07-12]", "leaf2"]
rate = "{rate} Gbit/s"
[[links]]
between = ["leaf[1-2]", "root"]
rate = "{uplink} Gbit/s"
"""


def found(folder: Path, text: str) -> list[tuple[FindingKind, tuple[str, ...], str]]:
    (folder / "net.toml").write_text(text, encoding="utf-8")
    words = (
        "run",
        "simple-pairwise",
        "--on",
        "sim:net.toml",
        "--size",
        "1MB",
        "--out",
        "run.zarr",
        "--quiet",
    )
    done = crosscut(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    return [(one.kind, one.hosts, one.what) for one in of_run.find(Run.open(folder / "run.zarr"))]


def test_nothing_stands_out_where_two_partners_only_share_the_hosts_own_links(quick_path: Path) -> None:
    ((kind, _, what),) = found(quick_path, _NETWORK.format(rate=10, uplink=60))
    assert kind is FindingKind.NOTHING
    assert "the same rate" in what


def test_a_slow_host_is_named_although_its_partners_have_other_partners(quick_path: Path) -> None:
    slow = _NETWORK.format(rate=10, uplink=60).replace('"n[01-06]", "leaf1"', '"n[01-05]", "leaf1"')
    slow += '[[links]]\nbetween = ["n06", "leaf1"]\nrate = "4 Gbit/s"\n'
    ((kind, hosts, what),) = found(quick_path, slow)
    assert (kind, hosts) == (FindingKind.SLOW_HOST, ("n06",))
    assert "40 %" in what


def test_leaves_and_their_trunk_are_found_where_it_carries_a_third(quick_path: Path) -> None:
    kinds = found(quick_path, _NETWORK.format(rate=10, uplink=20))
    assert [kind for kind, _, _ in kinds] == [FindingKind.GROUPS, FindingKind.SHARED_LIMIT]
    assert "2 groups of 6 hosts" in kinds[0][2]
    assert "2.50 GB/s" in kinds[1][2]
