"""The order of service when messages of several senders leave by one link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import labs
import pytest
from in_process import crosscut
from labs import FAST_ETHERNET, lab, median_rates, needs_lab, on_node

from crosscut.lab import lifecycle, state

pytestmark = needs_lab

# Slow, so that load on this machine does not matter. h0 sends to h2 through h1, and h1 to h3 over the same
# link.
LINE = f"""
[link]
rate = "10 Mbit/s"
[[hosts]]
names = "h[0-3]"
forwards = "ip"
[[links]]
between = ["h0", "h1"]
[[links]]
between = ["h1", "h2"]
[[links]]
between = ["h2", "h3"]
[routing]
kind = "hosts"
{FAST_ETHERNET}"""
# One flow through both links between switches, and one through each link.
SWITCHES = f"""
[link]
rate = "10 Mbit/s"
[[hosts]]
names = "n[0-5]"
[[switches]]
names = "s[0-2]"
[[links]]
between = ["n[0-1]", "s0"]
[[links]]
between = ["n[2-3]", "s1"]
[[links]]
between = ["n[4-5]", "s2"]
[[links]]
between = ["s0", "s1"]
[[links]]
between = ["s1", "s2"]
{FAST_ETHERNET}"""


@pytest.fixture(autouse=True)
def own_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path / "labs"))
    yield
    for name in state.names():
        lifecycle.down(name)


def rates(folder: Path, network: str, routes: str, switch: str) -> dict[str, float]:
    file = folder / "network.toml"
    file.write_text(network)
    with lab(file, switch=switch):
        return median_rates(
            folder, "routes", "--on", "lab:test", "--routes", routes, "--size", "500KB", "--repetitions", "9"
        )


@pytest.mark.parametrize("switch", labs.SWITCHES)
def test_a_host_that_forwards_sends_its_own_messages_too(switch: str, tmp_path: Path) -> None:
    found = rates(tmp_path, LINE, "0-2,1-3", switch)
    assert found["h1-h3"] == pytest.approx(found["h0-h2"], rel=0.2)


def test_fair_queues_share_like_max_min_even_with_routes_through_several_full_links(tmp_path: Path) -> None:
    found = rates(tmp_path, SWITCHES, "0-4,1-2,3-5", "kernel,queues=fair")
    half = 10e6 / 8 * 1448 / 1538 / 2
    assert found == {route: pytest.approx(half, rel=0.1) for route in ("n0-n4", "n1-n2", "n3-n5")}


def test_fair_queues_keep_no_acknowledgement_behind_its_hosts_own_data(tmp_path: Path) -> None:
    # n4 receives over links that only its flow fills; its acknowledgements leave over one that is full.
    found = rates(tmp_path, SWITCHES, "0-4,4-1,5-3", "kernel,queues=fair")
    whole = 10e6 / 8 * 1448 / 1538
    assert found["n0-n4"] == pytest.approx(whole, rel=0.1)
    assert found["n4-n1"] == pytest.approx(whole / 2, rel=0.1)


def test_queues_are_as_chosen(tmp_path: Path) -> None:
    file = tmp_path / "network.toml"
    file.write_text(LINE)
    for switch, served_in_turn in (("kernel", True), ("kernel,queues=fifo", False)):
        with lab(file, switch=switch) as record:
            shown = on_node(record, "h1", "tc", "class", "show", "dev", "eth1")
            assert ("class htb" in shown) == served_in_turn


def test_a_changed_rate_keeps_fair_queues(tmp_path: Path) -> None:
    file = tmp_path / "network.toml"
    file.write_text(LINE)
    with lab(file) as record:
        before = on_node(record, "h1", "tc", "class", "show", "dev", "eth1")
        assert crosscut("lab", "fault", "plant", "test", "slow", "h1", folder=tmp_path).returncode == 0
        assert on_node(record, "h1", "tc", "class", "show", "dev", "eth1").count("htb") == before.count("htb")
