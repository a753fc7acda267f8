"""What is drained, resumed and left alone, by a policy, from what searches found."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscut.base.errors import UsageError
from crosscut.health import policy as policies
from crosscut.health.decide import PREFIX, Decision, NodeState, Verb, acting, decide, reason
from crosscut.health.ledger import OWN_HISTORY, HealthSearch, NodeFault

DEFAULT = policies.read()
NODES = [f"n{number}" for number in range(4)]
IDLE = [NodeState(node, "idle") for node in NODES]


def found(night: int, *faults: tuple[str, float], hour: int = 22, kind: str = OWN_HISTORY) -> HealthSearch:
    """A search in the night that began on this day of November; all nodes without a fault are sound."""
    named = tuple(NodeFault(node, kind, "receives little", share, "adapter eth0") for node, share in faults)
    sound = tuple(node for node in NODES if node not in dict(faults))
    return HealthSearch(f"2026-11-{night:02}T{hour:02}:00:00Z", sound, named)


def verbs(searches: list[HealthSearch], states: list[NodeState] = IDLE, **more: int) -> dict[str, str]:
    return {one.node: one.verb.value for one in decide(DEFAULT, searches, states, **more)}


def state(node: str, word: str, why: str = "") -> list[NodeState]:
    """All nodes idle but this one."""
    return [NodeState(one, word, why) if one == node else NodeState(one, "idle") for one in NODES]


def test_nothing_follows_from_sound_searches() -> None:
    assert verbs([]) == {}
    assert verbs([found(1), found(2)]) == {}


@pytest.mark.parametrize("share", [0.0, 0.1, 0.45, 0.8])
def test_no_node_is_drained_on_one_search(share: float) -> None:
    assert verbs([found(1, ("n1", share))]) == {"n1": "wait"}
    assert verbs([found(1, ("n1", share), kind="lossy host")]) == {"n1": "wait"}


def test_a_broken_node_is_drained_after_two_searches_of_one_night() -> None:
    assert verbs([found(1, ("n1", 0.4)), found(1, ("n1", 0.45), hour=23)]) == {"n1": "drain"}


def test_a_slow_node_is_drained_after_two_nights() -> None:
    one_night = [found(1, ("n1", 0.8)), found(1, ("n1", 0.8), hour=23)]
    assert verbs(one_night) == {"n1": "wait"}
    assert verbs([*one_night, found(2, ("n1", 0.8))]) == {"n1": "drain"}


def test_a_node_whose_link_went_down_is_drained_the_second_time_and_one_with_wire_errors_is_reported() -> (
    None
):
    for kind, after in (("link down", ["wait", "drain"]), ("wire errors", ["report", "report"])):
        times = [found(1, ("n1", float("nan")), hour=hour, kind=kind) for hour in (22, 23)]
        assert [verbs(times[:count])["n1"] for count in (1, 2)] == after


def test_a_night_lasts_until_noon() -> None:
    evening = HealthSearch("2026-11-01T23:50:00Z", (), (NodeFault("n1", OWN_HISTORY, "", 0.8),))
    morning = HealthSearch("2026-11-02T00:10:00Z", (), (NodeFault("n1", OWN_HISTORY, "", 0.8),))
    assert evening.night == morning.night == "2026-11-01"
    assert verbs([evening, morning]) == {"n1": "wait"}


def test_a_worse_fault_counts_for_milder_severities_too() -> None:
    assert verbs([found(1, ("n1", 0.8)), found(2, ("n1", 0.4))]) == {"n1": "drain"}


def test_a_lossy_node_is_broken_at_any_rate() -> None:
    searches = [found(1, ("n1", float("nan")), hour=hour, kind="lossy host") for hour in (22, 23)]
    assert verbs(searches) == {"n1": "drain"}


def test_a_slight_fault_is_only_reported_and_one_above_all_severities_is_none() -> None:
    assert verbs([found(night, ("n1", 0.95)) for night in range(1, 9)]) == {"n1": "report"}
    assert verbs([found(night, ("n1", 1.2)) for night in range(1, 9)]) == {}
    assert verbs([found(night, ("n1", float("nan"))) for night in range(1, 9)]) == {}


def test_a_flapping_fault_counts_although_a_search_between_missed_it() -> None:
    assert verbs([found(1, ("n1", 0.8)), found(2), found(3, ("n1", 0.8))]) == {"n1": "drain"}


def test_three_sound_searches_clear_what_was_found_before() -> None:
    assert verbs([found(1, ("n1", 0.4)), found(2), found(3), found(4), found(5, ("n1", 0.4))]) == {
        "n1": "wait"
    }


def test_searches_that_left_a_node_open_neither_clear_nor_blame_it() -> None:
    elsewhere = HealthSearch("2026-11-02T22:00:00Z", ("n0", "n2"))
    searches = [found(1, ("n1", 0.8)), *[elsewhere] * 5, found(3, ("n1", 0.8))]
    assert verbs(searches) == {"n1": "drain"}


def test_at_most_so_many_nodes_are_drained_and_the_worst_come_first() -> None:
    both = [("n1", 0.45), ("n2", 0.1)]
    searches = [found(1, *both), found(1, *both, hour=23)]
    assert verbs(searches) == {"n2": "drain", "n1": "hold back"}
    assert verbs(searches, at_most=2) == {"n2": "drain", "n1": "drain"}
    assert verbs(searches, at_most=0) == {"n2": "hold back", "n1": "hold back"}
    there = state("n3", "drained", f"{PREFIX}slow")
    assert verbs(searches, there) == {"n3": "keep drained", "n2": "hold back", "n1": "hold back"}


def test_a_resumed_node_makes_room_for_another() -> None:
    searches = [found(1, ("n1", 0.4)), found(2, ("n1", 0.4)), found(3)]
    there = state("n3", "drained", f"{PREFIX}slow")
    found_again = decide(DEFAULT, searches, there)
    assert {one.node: one.verb for one in found_again} == {"n1": Verb.DRAIN, "n3": Verb.RESUME}
    assert [one.verb for one in acting(found_again)] == [Verb.RESUME, Verb.DRAIN]


def test_only_nodes_that_crosscut_drained_are_resumed() -> None:
    sound = [found(night) for night in (1, 2, 3)]
    assert verbs(sound, state("n1", "drained", f"{PREFIX}receives little")) == {"n1": "resume"}
    for why in ("bad memory", "", "Crosscut: no", "see crosscut: x"):
        assert verbs(sound, state("n1", "drained", why)) == {}
    assert verbs(sound, state("n1", "down*", f"{PREFIX}receives little")) == {}


def test_a_drained_node_stays_so_until_enough_searches_find_it_sound() -> None:
    there = state("n1", "drained", f"{PREFIX}receives little")
    searches = [found(1, ("n1", 0.4)), found(1, ("n1", 0.4), hour=23), found(2), found(3)]
    assert verbs(searches, there) == {"n1": "keep drained"}
    assert verbs([*searches, found(4, ("n1", 0.95))], there) == {"n1": "keep drained"}
    assert verbs([*searches, found(4)], there) == {"n1": "resume"}


@pytest.mark.parametrize("word", ["drained", "draining", "down", "down*"])
def test_a_node_that_another_drained_is_left_alone_even_if_it_is_at_fault(word: str) -> None:
    searches = [found(1, ("n1", 0.1)), found(2, ("n1", 0.1))]
    assert verbs(searches, state("n1", word, "bad memory")) == {"n1": "leave alone"}


@pytest.mark.parametrize(
    ("word", "free", "drained"),
    [("idle", True, False), ("idle*", False, False), ("idle~", False, False), ("allocated", False, False),
     ("mixed", False, False), ("drained", False, True), ("drained*", False, True), ("draining", False, True),
     ("reserved", False, False), ("completing", False, False)],
)  # fmt: skip
def test_only_idle_nodes_that_answer_are_free(word: str, free: bool, drained: bool) -> None:
    node = NodeState("n1", word)
    assert (node.free, node.drained) == (free, drained)


def test_the_reason_names_figure_adapter_and_searches_on_one_printable_line() -> None:
    (one,) = decide(DEFAULT, [found(1, ("n1", 0.4)), found(2, ("n1", 0.4))], IDLE)
    assert reason(one) == "crosscut: receives little; adapter eth0; in 2 searches"
    assert reason(Decision("n1", Verb.DRAIN, "a\nb – µ")) == "crosscut: a?b - ?"
    assert len(reason(Decision("n1", Verb.DRAIN, "x" * 10_000))) == 400


def read(tmp_path: Path, text: str) -> policies.Policy:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    return policies.read(file)


def test_a_policy_that_drains_on_one_search_is_refused(tmp_path: Path) -> None:
    default = policies.DEFAULT.read_text()
    with pytest.raises(UsageError, match=r"policy.toml:\d+: \[\[severity\]\] 1, key 'searches': 1 is not"):
        read(tmp_path, default.replace("searches = 2 ", "searches = 1 "))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("at_most = 1", "at_mst = 1", "key 'at_mst': there is no such key; did you mean 'at_most'"),
        ('below = "90%"', 'below = "40%"', "key 'below': must be above that of 'broken'"),
        ('name = "slow"', 'name = "broken"', "'broken' is already the name in line"),
        ('action = "report"', 'action = "reboot"', "'reboot' is unknown"),
        ('"lossy host"', '"slow trunk"', "'slow trunk' is unknown"),
        ("sound_searches = 3", "sound_searches = 1", "1 is not a whole number from 2"),
    ],
)
def test_mistakes_in_a_policy_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    default = policies.DEFAULT.read_text()
    assert old in default
    with pytest.raises(UsageError, match=message):
        read(tmp_path, default.replace(old, new))


def test_a_policy_without_severities_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="key 'severity': there is none"):
        read(tmp_path, "at_most = 1\nsound_searches = 2\nseverity = []\n")
