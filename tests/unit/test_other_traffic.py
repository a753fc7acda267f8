"""Traffic of other programs, by the bytes that adapters counted beyond those of the measurement."""

from __future__ import annotations

import pytest

from crosscut.analysis.findings import other_traffic
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.findings.other_traffic import Traffic

NODES = tuple(f"n{rank}" for rank in range(6))
OWN = 10_000_000


def attributes(out: dict[str, int] | None = None, back: dict[str, int] | None = None) -> dict[str, object]:
    """Each host moves OWN bytes both ways, a tenth more with headers, and `out`, `back` of other programs."""
    gained = {
        node: {"tx_bytes": 11 * OWN // 10 + (out or {}).get(node, 0),
               "rx_bytes": 11 * OWN // 10 + (back or {}).get(node, 0)}
        for node in NODES
    }  # fmt: skip
    every = [OWN] * len(NODES)
    return {
        "backend": {"name": "tcp"}, "start": "2026-11-26T07:00:00Z", "end": "2026-11-26T07:00:10Z",
        "counters_before": {node: {"eth0": {"tx_bytes": 7, "rx_bytes": 7}, "tcp": {}} for node in NODES},
        "counters_after": {
            node: {"eth0": {name: 7 + count for name, count in counts.items()}, "tcp": {}}
            for node, counts in gained.items()
        },
        "effort": [{"size": 1, "sent_bytes": every, "received_bytes": every}],
    }  # fmt: skip


def slow(share: float, direction: Direction = Direction.OUT) -> Finding:
    what = f"n1 sends at {100 * share:.0f} % of the rate of the other hosts (measured alone 5 times)"
    return Finding(
        FindingKind.SLOW_HOST, what, ranks=(1,), hosts=("n1",), direction=direction, effect=Effect(share)
    )


def traffic(**how: dict[str, int]) -> dict[str, Traffic]:
    return other_traffic.of(attributes(**how), NODES)


def test_bytes_beyond_those_of_the_measurement_are_of_other_programs() -> None:
    (one,) = other_traffic.tied([], traffic(out={"n1": 20_000_000}, back={"n4": 19_000_000}), NODES)
    assert (one.kind, one.hosts) == (FindingKind.OTHER_TRAFFIC, ("n1", "n4"))
    assert "n1's eth0 sent 2.00 MB/s, n4's eth0 received 1.90 MB/s" in one.what


def test_a_slow_host_whose_link_other_programs_used_is_no_fault() -> None:
    (one,) = other_traffic.tied([slow(0.6)], traffic(out={"n1": 20_000_000}), NODES)
    assert one.kind is FindingKind.OTHER_TRAFFIC
    assert one.what.endswith("n1 sends at 60 % of the rate of the other hosts, which need not be a fault")


@pytest.mark.parametrize(
    "fault",
    [
        slow(0.1),  # these bytes explain only a small part
        slow(0.6, Direction.IN),
        slow(0.6, Direction.BOTH),
    ],
)
def test_other_programs_explain_only_what_they_took_in_that_direction(fault: Finding) -> None:
    first, second = other_traffic.tied([fault], traffic(out={"n1": 20_000_000}), NODES)
    assert (first, second.kind) == (fault, FindingKind.OTHER_TRAFFIC)


def test_little_traffic_is_reported_only_if_it_explains_a_slow_host() -> None:
    little = traffic(out={"n1": 800_000, "n3": 700_000})
    assert other_traffic.tied([], little, NODES) == []
    (one,) = other_traffic.tied([slow(0.88)], little, NODES)
    assert (one.kind, one.hosts) == (FindingKind.OTHER_TRAFFIC, ("n1",))
    assert "n1's eth0 sent 80.0 KB/s; meanwhile n1 sends at 88 %" in one.what
    assert other_traffic.tied([slow(0.8)], little, NODES) == [slow(0.8)]  # a third of what it lacks


def test_what_varies_between_hosts_explains_nothing() -> None:
    varied = {node: 100_000 * rank for rank, node in enumerate(NODES)}
    assert other_traffic.tied([slow(0.99)], traffic(out=varied | {"n1": 600_000}), NODES) == [slow(0.99)]


def test_what_all_hosts_have_is_overhead() -> None:
    assert other_traffic.tied([], traffic(), NODES) == []
    assert other_traffic.tied([], traffic(out=dict.fromkeys(NODES, OWN)), NODES) == []


def test_acknowledgements_are_no_traffic_of_their_own() -> None:
    (one,) = other_traffic.tied([], traffic(out={"n1": 30_000_000}, back={"n1": 2_600_000}), NODES)
    assert "received" not in one.what


def test_runs_of_one_session_are_added() -> None:
    once = traffic(out={"n1": 1_500_000})
    assert other_traffic.tied([], once, NODES) == []  # less than counts
    (one,) = other_traffic.tied([], other_traffic.added(once, traffic(out={"n1": 9_000_000})), NODES)
    assert "n1's eth0 sent 525 KB/s" in one.what


@pytest.mark.parametrize("damage", [None, 3, [], [3], {}, {"n1": 3}, {"n1": {"eth0": {"tx_bytes": "x"}}}])
@pytest.mark.parametrize("member", ["counters_before", "counters_after", "effort", "start", "backend"])
def test_damaged_records_say_nothing(member: str, damage: object) -> None:
    assert other_traffic.tied([], other_traffic.of(attributes() | {member: damage}, NODES), NODES) == []


def test_what_tcp_sent_again_is_of_no_other_program() -> None:
    run = attributes(out={"n1": 20_000_000}, back={"n3": 20_000_000})
    run["retransmissions"] = [{"rank": 1, "segments": 9000, "again": 2600, "to": [[3, 9000, 2600]]}]
    assert len(other_traffic.tied([], other_traffic.of(run, NODES), NODES)) == 1  # 3.9 MB of 20
    run["nodes"] = [{"name": name, "adapters": [{"name": "eth0", "mtu": 9000}]} for name in NODES]
    assert other_traffic.tied([], other_traffic.of(run, NODES), NODES) == []


def test_nodes_with_unequal_numbers_of_ranks_are_not_compared() -> None:
    assert other_traffic.of(attributes(out={"n1": 20_000_000}), (*NODES[:5], NODES[4])) == {}


def test_what_rank_0_conducts_is_of_the_measurement() -> None:
    """With headers: 66 bytes of each segment."""
    given = attributes(out={"n0": 3_000_000}, back={"n0": 9_000_000})
    conducts = {"sent_bytes": 1_020_000, "received_bytes": 7_020_000,
                "sent_segments": 30_000, "received_segments": 30_000}  # fmt: skip
    assert other_traffic.tied([], other_traffic.of(given, NODES), NODES)
    for when, factor in (("before", 1), ("after", 2)):
        counters = given[f"counters_{when}"]
        assert isinstance(counters, dict)
        counters["n0"]["conductor"] = {name: factor * count for name, count in conducts.items()}
        counters["n0"]["control"] = {
            "sent_bytes": 10_000 // factor,
            "sent_segments": "x",
        }  # made anew, damage
    assert other_traffic.tied([], other_traffic.of(given, NODES), NODES) == []
