"""`crosscut lab walk`: real probes over real labs, sound and damaged."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process import crosscut
from labs import FAST_ETHERNET, lab, needs_lab, on_node, without_rates

from crosscut.base.errors import CrosscutError
from crosscut.lab import lifecycle, state
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.lab.switch.program import find_switch
from crosscut.lab.walk import walk as walking

pytestmark = [needs_lab, without_rates]

# Three switches of four nodes; each node has a wire to a node of another group. 12 nodes: 132 routes.
ROUTED = (
    '[generator]\nkind = "meta-node"\nmeta_nodes = 3\nports = 4\nrate = "100 Mbit/s"\n'
    f'[routing]\nkind = "hosts"\n{FAST_ETHERNET}'
)


@pytest.fixture
def routed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path / "labs"))
    (tmp_path / "routed.toml").write_text(ROUTED)
    yield tmp_path
    for name in state.names():
        lifecycle.down(name)


def walk(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return crosscut("lab", "walk", *words, folder=folder)


def found(folder: Path, *words: str) -> dict[str, object]:
    document: dict[str, object] = json.loads(walk(folder, *words, "--json").stdout)
    return document


@pytest.mark.parametrize("switch", ["kernel", "user"])
def test_every_route_of_a_sound_lab_goes_as_computed(routed: Path, switch: str) -> None:
    if switch == "user":
        try:
            find_switch()
        except CrosscutError as error:
            pytest.skip(str(error))
    with lab(routed / "routed.toml", switch=switch):
        done = walk(routed)  # the only lab that is up
        assert (done.returncode, done.stderr) == (0, "")
        assert "132 routes traced" in done.stdout
        assert "every route is as computed" in done.stdout
        document = found(routed, "test")
        assert (document["routes"], document["unlike"], document["not_walked"]) == (132, 0, 0)
        assert sum(document["by_gateways"].values()) == 132  # type: ignore[attr-defined]
        assert set(document["by_gateways"]) <= {"0", "1", "2"}  # type: ignore[call-overload]


def test_a_wrong_table_is_found_with_exactly_the_routes_that_it_changes(routed: Path) -> None:
    with lab(routed / "routed.toml") as record:
        spoilt = next(one for one in walking.walk(record, "", "", 60).routes if len(one.computed) == 3)
        plan = lifecycle.plan_of(record)
        to = f"10.0.0.{plan.hosts.index(spoilt.to) + 1}"
        here = on_node(record, spoilt.source, "ip", "route", "get", to)
        wrong = next(
            name for name in plan.hosts[:4] if name not in (spoilt.source, spoilt.computed[0])
        )  # another node of its own group, which also has a route
        via = f"10.0.0.{plan.hosts.index(wrong) + 1}"
        assert via not in here
        on_node(record, spoilt.source, "ip", "route", "replace", to, "via", via, "dev", "eth0")
        done = walk(routed, "test")
        assert done.returncode == 1
        assert "1 route not as computed:" in done.stdout
        words = " ".join(done.stdout.split())
        assert f"{spoilt.source} → {wrong} →" in words
        assert f"computed: {' → '.join([spoilt.source, *spoilt.computed])}" in words
        ways = found(routed, "test")["ways"]
        unlike = [(way["from"], way["to"]) for way in ways if not way["as_computed"]]  # type: ignore[attr-defined]
        assert unlike == [(spoilt.source, spoilt.to)]


def test_a_gateway_without_a_route_is_named_for_all_routes_through_it(routed: Path) -> None:
    with lab(routed / "routed.toml") as record:
        route = next(one for one in walking.walk(record, "", "", 60).routes if len(one.computed) == 2)
        gateway, hosts = route.computed[0], lifecycle.plan_of(record).hosts
        on_node(record, gateway, "ip", "route", "del", f"10.0.0.{hosts.index(route.to) + 1}")
        walked = walking.walk(record, "", route.to, 60)
        spoilt = {one.source for one in walked.unlike}
        assert spoilt == {one.source for one in walked.routes if gateway in (one.source, *one.computed[:-1])}
        assert {one.found[-1] for one in walked.unlike if one.source != gateway} == {gateway}
        assert {one.end for one in walked.unlike} == {"no route"}


def test_tables_that_send_packets_back_are_reported_as_a_loop(routed: Path) -> None:
    with lab(routed / "routed.toml") as record:
        hosts = lifecycle.plan_of(record).hosts
        route = next(one for one in walking.walk(record, "n0000", "", 60).routes if len(one.computed) == 3)
        gateway = route.computed[0]
        other = next(name for name in hosts[1:4] if name != gateway)
        to = f"10.0.0.{hosts.index(route.to) + 1}"
        for node, after in ((gateway, other), (other, gateway)):
            via = f"10.0.0.{hosts.index(after) + 1}"
            on_node(record, node, "ip", "route", "replace", to, "via", via, "dev", "eth0")
        (walked,) = walking.walk(record, "n0000", route.to, 60).routes
        assert (walked.found, walked.end) == ((gateway, other, gateway), "circle")


def test_a_dead_node_is_silent_and_the_walk_ends(routed: Path) -> None:
    with lab(routed / "routed.toml") as record:
        plant.plant("test", Fault("dead", ("n0005",)))
        walked = walking.walk(record, "", "n0005", 60)
        assert {one.end for one in walked.unlike} == {"silent"}
        assert len(walked.unlike) == len(walked.routes) == 11
        done = walk(routed, "test")
        assert done.returncode == 1
        assert "no route from, to or through n0005 is as computed\n" in done.stdout


def test_routes_left_over_at_the_time_limit_count_as_a_failure(routed: Path) -> None:
    with lab(routed / "routed.toml"):
        done = walk(routed, "test", "--time-limit", "1us")
        assert done.returncode == 1
        assert "132 routes not traced" in done.stdout


def test_one_route_is_shown_node_by_node(routed: Path) -> None:
    with lab(routed / "routed.toml") as record:
        route = next(one for one in walking.walk(record, "", "", 60).routes if len(one.computed) == 3)
        done = walk(routed, "test", "--from", route.source, "--to", route.to)
        assert done.returncode == 0
        assert " → ".join([route.source, *route.computed]) in done.stdout


def test_wrong_names_are_one_line_without_a_traceback(routed: Path) -> None:
    done = walk(routed)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "none is up" in done.stderr
    with lab(routed / "routed.toml"):
        for words, said in ((["other"], "there is no lab other"), (["--from", "n9"], "no node n9"),
                            (["--from", "n0001/eth0"], "--from takes a node"),
                            (["--to", "n0001/eth1"], "no address of its own for n0001/eth1")):  # fmt: skip
            done = walk(routed, *words)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
            assert said in done.stderr
