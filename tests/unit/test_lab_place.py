"""Which adapters of a lab's nodes the ranks of a session listen on."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscut.errors import PlaceError, UsageError
from crosscut.lab import describe, state
from crosscut.lab.faults import Fault
from crosscut.lab.ways import Host
from crosscut.places.lab import PLACE, planted, rails


def host(adapters: int, forwards: str = "no") -> Host:
    return Host("n0", tuple(range(adapters)), 1, forwards, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([host(1), host(1)], 1),
        ([host(2), host(2)], 2),
        ([host(3), host(2), host(8)], 2),  # what all have
        ([host(4, "ip"), host(4, "ip")], 1),  # a router is known by one address, whichever cable leads to it
        ([host(2), host(2, "hardware")], 1),
        ([host(0), host(0)], 1),
    ],
)
def test_rails_are_adapters_that_every_host_has_an_address_on(hosts: list[Host], expected: int) -> None:
    assert rails(hosts) == expected


def test_a_lab_that_is_up_no_more_is_named_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "names", lambda: ["one", "two"])
    with pytest.raises(UsageError, match=r"lab:gone: no lab of that name is up \(one, two are\)"):
        PLACE.ranks("gone", 0)


def test_planted_faults_are_told_in_a_line_however_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path))
    (tmp_path / "one").mkdir()
    record = state.Record("one", "one.toml")
    state.write(record)
    assert planted("one") == ""
    entries = [{"id": f"f{number}", **Fault("dead", (f"n{number}",)).as_json()} for number in range(1, 7)]
    state.with_faults(record, tuple(entries[:1]))
    assert planted("one") == "planted in lab one: f1: nothing gets to n1 or away from it"
    state.with_faults(record, tuple(entries))
    assert planted("one").endswith("away from it; and 2 more (crosscut lab fault list one)")
    (tmp_path / "one" / "lab.json").write_text("{")
    assert planted("one") == ""  # what it explains is worth more than why it cannot be explained


def test_a_broken_lab_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path))
    (tmp_path / "one").mkdir()
    monkeypatch.setattr(describe, "condition_of_name", lambda _: "broken: its switch has ended")
    with pytest.raises(PlaceError, match="lab one is broken: its switch has ended; crosscut lab down one"):
        PLACE.ranks("one", 0)
