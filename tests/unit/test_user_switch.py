"""The input of the user-space switch, and the reading of its answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscut.lab.switch.program import Tap, UserSwitchError, find_switch, mac_of, taps_list, trust_of

STATISTICS = {
    "seconds": 2.0,
    "cpu_share": 0.25,
    "lateness_seconds": {"count": 3, "median": 1e-5, "p99": 5e-5, "max": 1e-4},
    "frames": {"delivered": 3, "dropped": 1, "lost_in_hosts": 0},
}


def test_addresses_carry_adapter_and_host() -> None:
    assert mac_of(0) == "02:cc:00:00:00:00"
    assert mac_of(258, 1) == "02:cc:01:00:01:02"


def test_the_list_of_taps_has_an_object_per_line_and_ends_with_an_empty_line() -> None:
    text = taps_list(
        [Tap(0, Path("/run/netns/a"), addresses=("10.0.0.1",)), Tap(1, Path("/run/netns/b"), "e1")]
    )
    first, second, *end = text.split("\n")
    assert end == ["", ""]
    assert json.loads(first)["addresses"] == ["10.0.0.1"]
    assert json.loads(second) == {
        "host": 1,
        "adapter": 0,
        "netns": "/run/netns/b",
        "tap": "e1",
        "mac": mac_of(1),
        "addresses": [],
    }


def test_trust_takes_its_figures_from_the_statistics() -> None:
    trust = trust_of(STATISTICS)
    assert trust["lateness_p99_seconds"] == 5e-5
    assert (trust["frames_delivered"], trust["frames_dropped"]) == (3, 1)


@pytest.mark.parametrize("broken", [{}, {**STATISTICS, "frames": []}, {**STATISTICS, "cpu_share": "much"}])
def test_statistics_without_a_figure_are_refused_by_its_name(broken: dict[str, object]) -> None:
    with pytest.raises(UserSwitchError, match="have no number"):
        trust_of(broken)


def test_a_variable_that_does_not_name_a_program_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCUT_SWITCH", "/nowhere/crosscut-switch")
    with pytest.raises(UserSwitchError, match="no executable file"):
        find_switch()
