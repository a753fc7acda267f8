"""`crosscut place`: ranks divided among hosts, bytes over narrow links, and when an order helps."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from crosscut.base.errors import UsageError
from crosscut.network.paths import Edge, Hop, Host, NextHops, Segment, Switch, Ways
from crosscut.ordering import candidates, judging, partition, present, terrain
from crosscut.ordering.crossing import crossing
from crosscut.ordering.forms import FORMS
from crosscut.ordering.judging import Judged
from crosscut.ordering.placing import Placement
from crosscut.ordering.reasons import why_not
from crosscut.ordering.terrain import Terrain
from crosscut.ordering.traffic import RankTraffic

LEAVES, EACH = 2, 4
HOSTS = LEAVES * EACH
RATE = 8e6
"""Bits per second of every link, so a byte takes a microsecond."""
IN_TURN = (0, 4, 1, 5, 2, 6, 3, 7)


def network(uplink: float = RATE, capacity: float = np.inf, bounds: str = "through", ranks: int = 1) -> Ways:
    """Hosts n0 to n3 on leaf0, n4 to n7 on leaf1, and a root, whose own capacity is `capacity`."""
    hosts = tuple(Host(f"n{at}", (at,), ranks, "no", 0, 0) for at in range(HOSTS))
    leaf, root = [HOSTS, HOSTS + 1], HOSTS + 2
    edges = [Edge(at, leaf[at // EACH], False, 1, 10e-6, RATE, RATE) for at in range(HOSTS)]
    edges += [Edge(one, root, False, 1, 10e-6, uplink, uplink) for one in leaf]
    routes, segments = [], []
    for to in range(HOSTS):
        others = tuple(Hop(at, at, to, 0) for at in range(HOSTS) if at != to)
        routes.append(NextHops(to, 0, others))
        far = 1 - to // EACH
        leaving = ((leaf[to // EACH], to), (leaf[far], HOSTS + far), (root, HOSTS + to // EACH))
        segments.append(Segment(to, 0, leaving))
    switches = (Switch("leaf0", "host-facing", 0), Switch("leaf1", "host-facing", 0),
                Switch("root", bounds, 5e-6, capacity))  # fmt: skip
    return Ways("two", "", "lists", "two.toml", 1, 0, 0, False, hosts, switches, tuple(edges), tuple(routes),
                tuple(segments))  # fmt: skip


def surveyed(found: Ways | None = None, per_host: int = 1) -> Terrain:
    return terrain.survey(found or network(), per_host, range(HOSTS))


def pairs(amount: float = 1000) -> RankTraffic:
    """Ranks 2 k and 2 k + 1 exchange messages."""
    sent = np.kron(np.eye(HOSTS // 2), [[0, 1], [1, 0]])
    return RankTraffic(sent * amount, sent)


def all_to_all() -> RankTraffic:
    sent = 1.0 - np.eye(HOSTS)
    return RankTraffic(sent, sent)


def test_a_way_is_narrow_if_the_hosts_behind_it_can_send_more():
    ways = {way.name: way for way in surveyed().ways}
    assert ways["from leaf0 to root"].narrowness == pytest.approx(EACH)
    assert not ways["from n0 to leaf0"].is_narrow
    assert not surveyed(network(uplink=EACH * RATE)).narrow.any()


def test_a_byte_costs_its_share_of_every_way_and_a_message_its_links_and_switches():
    found = surveyed()
    assert found.cost[0, 1] == pytest.approx(2e-6)
    assert found.cost[0, 4] == pytest.approx(2e-6 + 2 * EACH * 1e-6)
    assert found.latency[0, 1] == pytest.approx(20e-6)
    assert found.latency[0, 4] == pytest.approx(45e-6)
    assert (np.diag(found.cost) == 0).all()


def test_the_capacity_of_a_switch_counts_once_for_each_message():
    found = surveyed(network(uplink=EACH * RATE, capacity=RATE))
    (narrow,) = (way for way in found.ways if way.is_narrow)
    assert (narrow.name, narrow.narrowness) == ("through root", pytest.approx(HOSTS))


def test_bytes_over_narrow_links_count_once_and_the_busiest_is_named():
    found = crossing(pairs(), surveyed(), IN_TURN)
    assert found.bytes == HOSTS * 1000
    assert found.busiest_bytes == EACH * 1000
    assert found.busiest_seconds == pytest.approx(EACH * 1000e-6)
    assert crossing(pairs(), surveyed(), range(HOSTS)).bytes == 0


def test_groups_are_found_from_costs_level_by_level():
    tree = partition.groups(surveyed().cost)
    assert [part.hosts for part in tree.parts] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert [len(part.parts) for part in tree.parts] == [4, 4]
    assert partition.groups(np.zeros((1, 1))).hosts == (0,)
    assert len(partition.groups(np.ones((3, 3))).parts) == 3


def test_parts_have_exactly_as_many_ranks_as_there_is_room():
    pytest.importorskip("pymetis")
    weights = np.random.default_rng(1).uniform(size=(30, 30))
    weights += weights.T
    cost = np.ones((4, 4))
    cost[:2, :2] = cost[2:, 2:] = 0.1
    room = [3, 11, 9, 7]
    found = partition.assigned(weights, partition.groups(cost), room, 1)
    assert np.bincount(found).tolist() == room


def test_ranks_that_exchange_are_put_on_one_leaf():
    pytest.importorskip("pymetis")
    there = surveyed()
    found = candidates.found(pairs(), there, IN_TURN, 2)
    assert crossing(pairs(), there, found[0].order).bytes == 0
    assert all(sorted(one.order) == list(range(HOSTS)) for one in found)


def test_ranks_that_exchange_are_put_on_one_host():
    pytest.importorskip("pymetis")
    there = terrain.survey(network(ranks=2), 2, range(4))
    found = candidates.found(pairs(), there, IN_TURN, 2)[0].order
    assert all(found[rank] // 2 == found[rank + 1] // 2 for rank in range(0, HOSTS, 2))


def test_without_metis_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(UsageError, match=r"pip install 'crosscut\[place\]'"):
        partition.metis()


def test_the_present_order_is_read_from_a_host_file(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("n1.site slots=2\nn0\nn1\n")
    found = present.of_file(network(), file, 4, 0)
    assert (found.per_host, found.places) == (3, (3, 4, 0, 5))
    with pytest.raises(UsageError, match="has places for 4 ranks, but the program has 5"):
        present.of_file(network(), file, 5, 0)
    file.write_text("n1\nm7\n")
    with pytest.raises(UsageError, match="host 'm7' is not in the network two"):
        present.of_file(network(), file, 2, 0)
    file.write_text("n[0-9999] slots=4096\n")
    with pytest.raises(UsageError, match="slots, of at most"):
        present.of_file(network(), file, 2, 0)
    with pytest.raises(UsageError, match="room for 8 ranks, but the program has 9"):
        present.in_blocks(network(), 9, 0)


def test_the_interval_spans_draws_of_noise_and_the_replay_without_it():
    found = judging.gain([10, 10, 10], [8.1, 8.0, 7.9], 0.5)
    assert found.low == pytest.approx(0.5)
    assert found.ratio == pytest.approx((0.5 * 0.8) ** 0.5, rel=1e-3)
    assert 0.8 < found.high < 0.83
    alone = judging.gain([10], [7], 0.7)
    assert not alone.has_interval
    assert alone.is_better
    assert not judging.gain([10, 10], [9.5, 10.5], 0.9).is_better
    assert not judging.gain([10], [9.95], 0.995).is_better


class _Clock:
    """Time that depends on the place of rank 0 alone."""

    is_noisy = True

    def seconds(self, order, seed):
        return 2.0 - (order[0] == 7) + 0.01 * (seed % 7)


def test_the_best_of_the_orders_tried_is_judged_on_draws_that_did_not_choose_it():
    asked: list[tuple[int, int]] = []

    class Noted(_Clock):
        def seconds(self, order, seed):
            asked.append((order[0], seed))
            return super().seconds(order, seed)

    tried = [candidates.TriedOrder((7, *range(7)), "hand")]
    found = judging.judge(Noted(), tuple(range(8)), tried, 1, lambda _: None)
    assert found.helps
    assert found.best.order[0] == 7
    assert found.replayed == 8
    choosing = {seed for first, seed in asked if first not in (0, 7)}
    assert len(choosing) == 2
    predicting = {seed for first, seed in asked if first == 0} - choosing
    assert len(predicting - {judging.QUIET}) == 8


def placed(
    traffic: RankTraffic, there: Terrain, ratio: float, best: tuple[int, ...] = tuple(range(8))
) -> Placement:
    gain = judging.gain([1], [ratio], ratio)
    judged = Judged(1, (1,), candidates.TriedOrder(best, "hand"), ratio, gain, 1)
    order = present.RankOrder(there.per_host, IN_TURN, "by hand")
    before, after = (crossing(traffic, there, one) for one in (IN_TURN, best))
    return Placement(there, traffic, order, best, "hand", judged, before, after, None, "", is_traced=True)


@pytest.mark.parametrize(
    ("traffic", "uplink", "reason"),
    [
        (all_to_all(), RATE, "every rank sends as much to each of the others"),
        (pairs(), EACH * RATE, "no way of the network is narrower"),
        (pairs(), RATE, "the program does not wait for them"),
        (RankTraffic(np.zeros((8, 8)), np.zeros((8, 8))), RATE, "send each other nothing"),
    ],
)
def test_the_reason_is_given_if_no_order_helps(traffic, uplink, reason):
    found = placed(traffic, surveyed(network(uplink=uplink)), 1.0)
    assert not found.helps
    assert reason in why_not(found)
    assert found.hosts == tuple(f"n{at}" for at in IN_TURN)


def test_a_present_order_that_is_better_than_all_others_is_the_reason():
    assert "better than any other" in why_not(placed(pairs(), surveyed(), 1.2))


def test_a_network_that_treats_all_pairs_alike_is_the_reason():
    flat = terrain.survey(network(), 1, range(EACH))
    order = present.RankOrder(1, (0, 1, 2, 3), "by hand")
    traffic = RankTraffic(np.arange(16.0).reshape(4, 4), np.ones((4, 4)))
    none = crossing(traffic, flat, order.places)
    found = Placement(flat, traffic, order, order.places, "", None, none, none, None, "", is_traced=True)
    assert why_not(found) == "the network treats all pairs of these hosts alike"


def test_forms_are_those_of_the_launchers():
    hosts = ["b", "a", "b"]
    assert FORMS["slurm"].text(hosts) == FORMS["mpich"].text(hosts) == "b\na\nb\n"
    assert FORMS["rankfile"].text(hosts) == "rank 0=b slot=0\nrank 1=a slot=0\nrank 2=b slot=1\n"


def test_paths_that_are_not_known_are_refused():
    broken = Ways(**{**vars(network()), "routes": ()})
    with pytest.raises(UsageError, match="the path from n0 to n1 is not known"):
        surveyed(broken)
