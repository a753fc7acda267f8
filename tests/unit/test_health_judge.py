"""Which nodes of a run are at fault, which are sound, and which are left open."""

from __future__ import annotations

from pathlib import Path

import pytest
from changed_runs import aapc

from crosscut.analysis.compare import spec
from crosscut.cabling.model import Cabling, Port
from crosscut.health.judge import FEWEST_EARLIER, JudgedNodes, judge, of_history, of_spec
from crosscut.health.ledger import OWN_HISTORY, PROMISE, HealthSearch, NodeFault
from crosscut.health.search import references
from crosscut.run.run import Run

NODES = [f"n{rank:03}" for rank in range(8)]
RATE, SIZE = 1e8, 1_000_000
KNOWN = of_history(dict.fromkeys(NODES, RATE), 0.9, SIZE)
ADAPTERS = [{"name": name, "id": name, "adapters": [{"name": "eth2"}]} for name in NODES]


def judged(run: Run, cabling: Cabling | None = None) -> JudgedNodes:
    return judge(run, KNOWN, [], 0.01, cabling)


def faults(found: JudgedNodes) -> dict[str, tuple[str, int]]:
    """Kind and share, in percent, of each node's fault."""
    return {one.node: (one.kind, round(100 * one.share)) for one in found.search.faults}


@pytest.mark.parametrize("seed", range(5))
def test_nodes_that_reach_their_own_history_are_sound(seed: int) -> None:
    found = judged(aapc(seed, repetitions=20))
    assert (found.search.sound, found.search.faults, found.notes) == (tuple(NODES), (), ())
    assert found.search.time == "2025-01-31T14:25:01Z"


@pytest.mark.parametrize(("flows", "does"), [({"out": {3: 0.4}}, "sends"), ({"into": {3: 0.4}}, "receives")])
def test_a_node_below_its_history_is_at_fault_with_direction_and_figures(
    flows: dict[str, dict[int, float]], does: str
) -> None:
    found = judged(aapc(1, repetitions=20, **flows))  # type: ignore[arg-type]
    assert faults(found) == {"n003": (OWN_HISTORY, 41)}
    assert found.search.faults[0].says.startswith(f"{does} ")
    assert found.search.faults[0].says.endswith("of 100 MB/s (its own history)")
    assert found.search.sound == tuple(node for node in NODES if node != "n003")


def test_adapter_and_cable_are_named() -> None:
    run = aapc(1, repetitions=20, out={3: 0.4}, attributes={"nodes": ADAPTERS})
    cabling = Cabling((Port("n003", switch="leaf1", port="12", cable="4711"),))
    assert judged(run, cabling).search.faults[0].where == "adapter eth2, switch leaf1 port 12, cable 4711"


def test_a_small_loss_is_none_and_too_few_repetitions_leave_it_open() -> None:
    assert faults(judged(aapc(1, repetitions=20, out={3: 0.97}))) == {}
    found = judged(aapc(1, repetitions=3))
    assert (found.search.sound, found.search.faults) == ((), ())
    assert found.notes == ("n[000-007]: undecided: too noisy, or only some of its routes are slow",)


def test_if_many_nodes_are_slow_none_is_blamed_and_none_cleared() -> None:
    found = judged(aapc(1, repetitions=20, out=dict.fromkeys(range(3), 0.5)))
    assert found.search.faults == ()
    assert found.search.sound == tuple(NODES[3:])
    assert any("3 of 8 nodes are below what they should reach" in note for note in found.notes)


def test_if_everything_is_slower_no_node_is_blamed() -> None:
    found = judged(aapc(1, repetitions=20, factor=0.6))
    assert (found.search.sound, found.search.faults) == ((), ())


def test_a_phase_that_the_machine_limited_blames_nobody() -> None:
    limited = {"lab": {"name": "x"}, "trust": [{"limited": [{"size": SIZE, "phases": [[1, 7]]}]}]}
    found = judged(aapc(1, repetitions=20, out={3: 0.4}, attributes=limited))
    assert (found.search.sound, found.search.faults) == ((), ())
    assert "this machine's CPU was the bottleneck in every phase" in found.notes[0]


@pytest.mark.parametrize(("others", "is_excused"), [(0, False), (400_000, False), (1_300_000, True)])
def test_a_node_that_lacks_what_other_programs_carried_is_left_open(others: int, is_excused: bool) -> None:
    own = 10 * SIZE
    every = [own] * len(NODES)
    zero = {"eth2": {"tx_bytes": 0, "rx_bytes": 0}}
    after = {node: {"eth2": {"tx_bytes": own, "rx_bytes": own}} for node in NODES}
    after["n003"] = {"eth2": {"tx_bytes": own + others, "rx_bytes": own}}
    counted = {
        "backend": {"name": "tcp"}, "start": "2026-11-26T07:00:00Z", "end": "2026-11-26T07:00:10Z",
        "counters_before": dict.fromkeys(NODES, zero), "counters_after": after,
        "effort": [{"size": SIZE, "sent_bytes": every, "received_bytes": every}],
    }  # fmt: skip
    found = judged(aapc(1, repetitions=20, out={3: 0.8}, attributes=counted))
    assert found.search.sound == tuple(node for node in NODES if node != "n003")
    assert list(faults(found)) == ([] if is_excused else ["n003"])
    said = "other programs used the network during the measurement: n003's eth2 sent 130 KB/s"
    assert [note.startswith(said) for note in found.notes] == [True] * is_excused


@pytest.mark.parametrize("limited", [False, True])
def test_a_link_that_went_down_and_wire_errors_are_faults_if_other_nodes_have_none(limited: bool) -> None:
    zero = {"eth2": {"carrier_changes": 1, "rx_crc_errors": 0}, "tcp": {"OutSegs": 0, "RetransSegs": 0}}
    after = {node: dict(zero) for node in NODES}
    after["n002"] = zero | {"eth2": {"carrier_changes": 3, "rx_crc_errors": 0}}
    after["n004"] = zero | {"eth2": {"carrier_changes": 1, "rx_crc_errors": 7}}
    after["n005"] = zero | {"tcp": {"OutSegs": 100_000, "RetransSegs": 9_000}}
    counted = {"nodes": ADAPTERS, "counters_before": dict.fromkeys(NODES, zero), "counters_after": after}
    if limited:
        counted |= {"lab": {"name": "x"}, "trust": [{"limited": [{"size": SIZE, "phases": [[1, 7]]}]}]}
    found = judged(aapc(1, repetitions=20, attributes=counted))
    assert [(one.node, one.kind, one.says, one.where) for one in found.search.faults] == [
        ("n002", "link down", "a link went down: eth2 carrier_changes +2", "adapter eth2"),
        ("n004", "wire errors", "errors on the wire: eth2 rx_crc_errors +7", "adapter eth2"),
    ]
    assert found.search.sound == (
        () if limited else tuple(one for one in NODES if one not in ("n002", "n004"))
    )


def test_a_node_that_is_slower_than_others_is_at_fault_unless_it_keeps_a_promise() -> None:
    run = aapc(1, repetitions=20, out={3: 0.4}, into={3: 0.4})
    usual = of_history({"n003": 0.4 * RATE}, 0.9, SIZE)
    assert faults(judge(run, usual, [], 0.01)) == {"n003": ("slow host", 40)}
    text = '[[promise]]\nkind = "node"\nat_least = "30 MB/s"\nnodes = ["n003"]\n'
    promised = of_spec(spec.parse(text, Path("spec.toml")), NODES)
    found = judge(run, usual, promised, 0.01)
    assert (found.search.faults, found.search.sound) == ((), ("n003",))


def test_a_node_without_a_history_is_open_unless_it_is_slower_than_others() -> None:
    rates = dict.fromkeys([*NODES[:3], *NODES[4:]], RATE)
    known = of_history(rates, 0.9, SIZE)
    assert faults(judge(aapc(1, repetitions=20, out={3: 0.4}), known, [], 0.01)) == {
        "n003": ("slow host", 40)
    }
    found = judge(aapc(1, repetitions=20), known, [], 0.01)
    assert any(
        note.startswith("nothing says yet what n003 should reach: a node's own history")
        for note in found.notes
    )


def test_promises_about_nodes_are_judged_for_each_node() -> None:
    text = (
        '[[promise]]\nkind = "node"\nat_least = "80 MB/s"\n[[promise]]\nkind = "latency"\nat_most = "1 us"\n'
    )
    promised = of_spec(spec.parse(text, Path("spec.toml")), NODES)
    assert [list(one.rates) for one in promised] == [NODES]
    found = judge(aapc(1, repetitions=20, out={3: 0.4}), of_history({}, 0.9, SIZE), promised, 0.01)
    assert faults(found) == {"n003": (PROMISE, 51)}
    assert found.search.faults[0].says.endswith("of 80.0 MB/s (what was promised)")
    some = spec.parse(text.replace('MB/s"', 'MB/s"\nnodes = ["n00[12]"]', 1), Path("spec.toml"))
    assert [list(one.rates) for one in of_spec(some, NODES)] == [["n001", "n002"]]


def test_slow_peers_and_trunks_do_not_make_a_node_slow() -> None:
    """Half of n003's routes are slower than before, by a slow peer and a trunk: as its adapter would not."""
    slower = {(3, other): 0.8 for other in (4, 5, 6, 7)}
    assert "n003" in judged(aapc(1, repetitions=20, route=slower)).search.sound


@pytest.mark.parametrize(("slow", "at_fault"), [(10, False), (11, False), (14, True)])
def test_a_node_is_at_fault_only_if_its_best_routes_are_slow_too(slow: int, at_fault: bool) -> None:
    slower = {(3, (3 + hop) % 16): 0.5 for hop in range(1, slow + 1)}
    known = of_history(dict.fromkeys([f"n{rank:03}" for rank in range(16)], RATE), 0.9, SIZE)
    found = judge(aapc(1, ranks=16, repetitions=20, route=slower), known, [], 0.01).search
    assert ([one.node for one in found.faults] == ["n003"]) == at_fault
    assert ("n003" in found.sound) == (slow == 10)


def test_what_a_node_reaches_is_its_slower_direction_with_the_best_quarter_of_the_others() -> None:
    found = judged(aapc(1, repetitions=20, into={3: 0.5}, route={(5, 0): 0.1, (5, 1): 0.1})).search.reached
    assert list(found) == NODES
    assert {node: round(rate / RATE, 1) for node, rate in found.items()} == dict.fromkeys(NODES, 1.0) | {
        "n003": 0.5
    }
    limited = {"lab": {"name": "x"}, "trust": [{"limited": [{"size": SIZE, "phases": [[1, 7]]}]}]}
    assert judged(aapc(1, repetitions=20, attributes=limited)).search.reached == {}


def searched(day: int, rate: int, *faults: str, nodes: int = 8) -> HealthSearch:
    rates = dict.fromkeys([f"n{number:03}" for number in range(nodes)], rate)
    named = tuple(NodeFault(node, OWN_HISTORY, "") for node in faults)
    return HealthSearch(f"2026-01-{day:02}T22:00:00Z", (), named, size_bytes=SIZE, reached=rates)


def test_a_history_counts_from_the_fifth_search_without_those_that_found_the_node_at_fault() -> None:
    searches = [searched(day, 100 + day) for day in range(1, 6)]
    assert references(searches, NODES, SIZE) == dict.fromkeys(NODES, 103)
    assert references(searches[: FEWEST_EARLIER - 1], NODES, SIZE) == {}
    assert references([*searches, searched(6, 10, "n001")], NODES, SIZE)["n001"] == 103
    assert references(searches, NODES, SIZE + 1) == {}
    assert references(searches, NODES[:3], SIZE) == {}
    assert references([*searches[1:], searched(9, 1, nodes=2)], NODES, SIZE) == {}
