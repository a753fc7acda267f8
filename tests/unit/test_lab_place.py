"""Which adapters of a lab's nodes the ranks of a session listen on."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from crosscut.base.errors import PlaceError, UsageError
from crosscut.base.host_list import Share
from crosscut.lab import describe, state
from crosscut.lab.faults.catalogue import as_json
from crosscut.lab.faults.fault import Fault
from crosscut.network.paths import Host
from crosscut.places.base import PlaceOptions
from crosscut.places.lab import (
    PLACE,
    SessionLab,
    _refuse_other,
    _tree,
    planted,
    rails,
    spread,
    taken_down,
)


def host(adapters: int, forwards: str = "no") -> Host:
    return Host("n0", tuple(range(adapters)), 1, forwards, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([host(1), host(1)], 1),
        ([host(2), host(2)], 2),
        ([host(3), host(2), host(8)], 2),  # what all have
        ([host(4, "ip"), host(4, "ip")], 1),  # a router has one address, on all its cables
        ([host(2), host(2, "hardware")], 1),
        ([host(0), host(0)], 1),
    ],
)
def test_rails_are_adapters_that_every_host_has_an_address_on(hosts: list[Host], expected: int) -> None:
    assert rails(hosts) == expected


def test_a_lab_that_is_no_longer_up_is_named_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "names", lambda: ["one", "two"])
    with pytest.raises(
        UsageError, match=r"lab:gone: neither a running lab \(running: one, two\) nor a network"
    ):
        PLACE.default_ranks("gone", {})


def test_any_number_of_planted_faults_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path))
    (tmp_path / "one").mkdir()
    record = state.Record("one", "one.toml")
    state.write(record)
    assert planted("one") == ""
    entries = [{"id": f"f{number}", **as_json(Fault("dead", (f"n{number}",)))} for number in range(1, 7)]
    state.write(replace(record, faults=tuple(entries[:1])))
    assert planted("one") == "planted in lab one: f1: nothing gets to n1 or away from it"
    state.write(replace(record, faults=tuple(entries)))
    assert planted("one").endswith("away from it; and 2 more (crosscut lab fault list one)")
    (tmp_path / "one" / "lab.json").write_text("{")
    assert planted("one") == ""  # the error that it would explain matters more than why it cannot


def test_a_broken_lab_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path))
    (tmp_path / "one").mkdir()
    monkeypatch.setattr(describe, "condition_of_name", lambda _: "broken: its switch has ended")
    with pytest.raises(PlaceError, match="lab one is broken: its switch has ended; crosscut lab down one"):
        PLACE.default_ranks("one", {})


@pytest.mark.parametrize(
    ("ranks", "per_host", "counts"),
    [
        (6, 0, [1, 1, 1, 1, 1, 1]),
        (7, 0, [2, 1, 1, 1, 1, 1]),  # no node is left out
        (15, 0, [3, 3, 3, 2, 2, 2]),
        (4, 0, [1, 1, 1, 1]),
        (7, 2, [2, 2, 2, 1]),  # as requested, and as in simulations
    ],
)
def test_ranks_are_spread_over_all_nodes(ranks: int, per_host: int, counts: list[int]) -> None:
    shares = spread(ranks, [f"n{number}" for number in range(6)], per_host)
    assert [share.count for share in shares] == counts
    assert [share.host for share in shares] == [f"n{number}" for number in range(len(counts))]
    assert [share.first_rank for share in shares] == [sum(counts[:at]) for at in range(len(counts))]


def test_more_ranks_than_fit_are_refused() -> None:
    assert spread(2, ["a"], 2) == [Share("a", 0, 2)]
    with pytest.raises(UsageError, match="-n 3: 2 hosts with 1 rank each have room for 2; raise"):
        spread(3, ["a", "b"], 1)


@pytest.mark.parametrize(
    ("switch", "dilation", "why"),
    [("user", 0.0, "--switch user: lab one is up with --switch kernel"),
     ("", 5.0, "--dilate 5: lab one is up with --dilate 10; leave --dilate out")],
)  # fmt: skip
def test_options_that_would_change_a_lab_that_is_up_are_refused(
    switch: str, dilation: float, why: str
) -> None:
    there = state.Record("one", "one.toml", dilation=10.0)
    with pytest.raises(UsageError, match=why):
        _refuse_other(there, switch, dilation)
    _refuse_other(there, "kernel", 10.0)
    _refuse_other(there, "", 0.0)


def test_a_lab_that_was_taken_down_under_a_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path))
    assert taken_down("one") == "lab one was taken down while it was measured on"
    (tmp_path / "one").mkdir()
    state.write(state.Record("one", "one.toml", condition="up"))
    assert taken_down("one") == ""


def test_the_remote_shell_gets_a_core_whose_path_has_a_space_as_one_word() -> None:
    options = PlaceOptions(executable=Path("/opt/my tools/crosscut-core"), ranks=2)
    site = SessionLab("x", Path("/run/x"), ("a", "b"), lambda: None)
    words, _, _ = _tree(options, site, spread(2, site.hosts, 0))
    assert shlex.split(str(words[-1])) == ["/opt/my tools/crosscut-core", "node"]
