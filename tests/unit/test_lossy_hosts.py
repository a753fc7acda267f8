"""Hosts that lose packets, by TCP's retransmissions on each connection."""

from __future__ import annotations

import pytest

from crosscut.analysis.findings import lossy_hosts
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.lossy_hosts import Losses
from crosscut.analysis.findings.model import Direction, Finding

NODES = tuple(f"n{rank}" for rank in range(12))


def losses(*again: tuple[int, int, int]) -> Losses:
    """`again`: source, destination, and how many of 1,000 segments were retransmitted."""
    records = [{"rank": source, "to": [[destination, 1000, count]]} for source, destination, count in again]
    return Losses.of({"retransmissions": records}, NODES)


def found(*again: tuple[int, int, int]) -> list[Finding]:
    return lossy_hosts.tied([], losses(*again), NODES)


def test_a_host_at_one_end_of_all_retransmissions_loses_packets() -> None:
    (one,) = found((1, 5, 20), (2, 5, 30), (7, 5, 10), (8, 5, 10), (9, 5, 10), (3, 4, 1))
    assert (one.kind, one.hosts, one.direction) == (FindingKind.LOSSY_HOST, ("n5",), Direction.IN)
    assert "80 of 5,000 TCP segments were retransmitted on its connections with 5 other hosts" in one.what


def test_both_directions_count() -> None:
    (one,) = found((1, 5, 20), (5, 2, 30), (5, 7, 10), (8, 5, 9), (5, 9, 8))
    assert (one.kind, one.ranks, one.direction) == (FindingKind.LOSSY_HOST, (5,), Direction.BOTH)


def test_two_lossy_hosts_are_both_named() -> None:
    first = [(rank, 5, 40) for rank in range(12) if rank != 5]
    second = [(9, rank, 30) for rank in range(12) if rank != 9]
    assert [one.hosts for one in found(*first, *second)] == [("n5",), ("n9",)]


def test_up_to_an_eighth_of_the_hosts_are_named() -> None:
    nodes = tuple(f"n{rank}" for rank in range(64))

    def named(count: int) -> tuple[str, ...]:
        lost = [
            {"rank": rank, "to": [[bad, 1000, 30] for bad in range(count) if bad != rank]}
            for rank in range(64)
        ]
        return lossy_hosts.suspects(Losses.of({"retransmissions": lost}, nodes), nodes)

    assert sorted(named(8)) == [f"n{rank}" for rank in range(8)]
    assert named(12) == ()


@pytest.mark.parametrize("peers", [2, 4])
def test_with_few_peers_it_is_a_suspect(peers: int) -> None:
    (one,) = found(*((rank, 5, 30) for rank in range(peers)))
    assert (one.kind, one.hosts) == (FindingKind.SUSPECT, ("n5",))


def test_with_one_peer_it_may_be_the_route() -> None:
    assert found((1, 5, 60)) == []


@pytest.mark.parametrize(
    "again",
    [
        [(source, (source + 1) % 12, 30) for source in range(12)],  # all hosts, as on a full trunk
        [(source, rank, 30) for source in range(6) for rank in range(6, 12)],  # into half of the hosts
        [(1, 5, 5), (2, 5, 5), (3, 5, 5)],  # too few to tell
        [
            (rank, lossy, 40) for lossy in (4, 5, 6, 7) for rank in (0, 1, 2)
        ],  # four routes with nothing in common
    ],
)
def test_losses_elsewhere_are_not_a_host_s_fault(again: list[tuple[int, int, int]]) -> None:
    assert found(*again) == []


def test_a_search_calls_a_host_lossy_only_if_it_also_lost_packets_alone() -> None:
    """One burst may be a full queue of a trunk."""
    searched = Losses(alone={}) + losses((1, 5, 20), (2, 5, 30), (7, 5, 10)) + losses((1, 5, 3))
    assert lossy_hosts.suspects(searched, NODES) == ("n5",)
    sound = searched.again_alone(losses((5, 1, 9)), ("n5",), 6)
    for known in (searched, sound):
        (one,) = lossy_hosts.tied([], known, NODES)
        assert (one.kind, one.hosts) == (FindingKind.SUSPECT, ("n5",))
    lossy = searched.again_alone(losses((5, 1, 9), (2, 5, 4)), ("n5",), 6)
    (one,) = lossy_hosts.tied([], lossy, NODES)
    assert (one.kind, one.hosts) == (FindingKind.LOSSY_HOST, ("n5",))
    assert "with 3 other hosts, and on 2 of 6 while the other hosts were silent" in one.what


def test_if_the_machine_was_the_bottleneck_a_host_that_loses_packets_is_not_a_fault() -> None:
    """Its rate is unknown then: it may be slow, with a full queue."""
    (one,) = lossy_hosts.tied([], losses((1, 5, 20), (2, 5, 30), (7, 5, 10)), NODES, is_limited=True)
    assert (one.kind, one.hosts) == (FindingKind.SUSPECT, ("n5",))
    assert "or this machine may be too busy" in one.what


def test_a_host_that_other_programs_used_meanwhile_is_a_suspect() -> None:
    """Seen on a lab: a stream of another program filled a host's link, and its queue lost packets."""
    traffic = Finding(FindingKind.OTHER_TRAFFIC, "n5's eth0 received 2 MB/s", ranks=(5,), hosts=("n5",))
    into_two = [
        (rank, host, count) for host, count in ((5, 40), (9, 30)) for rank in range(12) if rank != host
    ]
    _, *told = lossy_hosts.tied([traffic], losses(*into_two), NODES)
    kinds = {one.hosts[0]: one.kind for one in told}
    assert kinds == {"n5": FindingKind.SUSPECT, "n9": FindingKind.LOSSY_HOST}
    (shared,) = (one for one in told if one.hosts == ("n5",))
    assert shared.what.endswith(
        "Other programs used its adapter at the time, and full queues lose packets, too"
    )
    assert shared.advice == "measure again when these programs have ended"


def test_losses_of_a_slow_host_are_reported_with_it_and_not_again() -> None:
    slow = Finding(FindingKind.SLOW_HOST, "n5 receives at 40 %", ranks=(5,), hosts=("n5",))
    unsteady = Finding(FindingKind.UNSTABLE, "n1 to n5 varies", ranks=(1, 5), routes=((1, 5),))
    other = Finding(FindingKind.SLOW_ROUTE, "n1 to n2", ranks=(1, 2), routes=((1, 2),))
    again = losses((1, 5, 20), (2, 5, 30), (7, 5, 10))
    first, second = lossy_hosts.tied([slow, unsteady, other], again, NODES)
    assert first.what.startswith("n5 receives at 40 %; 60 of 3,000 TCP segments were retransmitted")
    assert first.what.endswith("as a slow link alone may cause")
    assert second == other


@pytest.mark.parametrize(
    "damage",
    [
        None, 3, [3], [{}], [{"rank": 1}], [{"rank": 1, "to": 3}], [{"rank": 1, "to": [3]}],
        [{"rank": 1, "to": [[2, 3]]}], [{"rank": 1, "to": [[2, 3, "4"]]}], [{"rank": -1, "to": [[2, 9, 9]]}],
        [{"rank": 1, "to": [[99, 9, 9]]}], [{"rank": 1, "to": [[1, 9, 9]]}],
        [{"rank": True, "to": [[2, 9, 9]]}],
    ],
)  # fmt: skip
def test_damaged_records_say_nothing(damage: object) -> None:
    assert Losses.of({"retransmissions": damage}, NODES).again == {}
