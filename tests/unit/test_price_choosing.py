"""Scores, the Pareto front, and the sentence that names the cheapest that is good enough."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscut.pricing import choosing, pareto, showing
from crosscut.pricing.amounts import Interval
from crosscut.pricing.asking import Priced
from crosscut.pricing.choosing import Candidate, Standing
from crosscut.pricing.judging import JudgedCandidate, MixJudgement
from crosscut.pricing.mix import Mix


def exactly(value: float) -> Interval:
    return Interval(value, value)


def candidate(name: str, price: float | tuple[float, float], score: float | tuple[float, float]) -> Candidate:
    ends = [value if isinstance(value, tuple) else (value, value) for value in (price, score)]
    return Candidate(name, Interval(*ends[0]), Interval(*ends[1]))


POSITIVE = st.floats(1e-3, 1e3)
INTERVALS = st.tuples(POSITIVE, st.floats(1, 2)).map(lambda pair: Interval(pair[0], pair[0] * pair[1]))
CANDIDATES = st.lists(st.tuples(INTERVALS, INTERVALS), min_size=1, max_size=7).map(
    lambda pairs: [Candidate(str(at), price, score) for at, (price, score) in enumerate(pairs)]
)


def test_a_score_is_the_weighted_geometric_mean() -> None:
    found = choosing.score([exactly(2), Interval(8, 16)], [3, 1])
    assert found.low == pytest.approx(2 ** (3 / 4) * 8 ** (1 / 4))
    assert found.high == pytest.approx(2 ** (3 / 4) * 16 ** (1 / 4))


@given(
    times=st.lists(st.tuples(INTERVALS, INTERVALS), min_size=1, max_size=5),
    unit=st.floats(1e-3, 1e3),
    data=st.data(),
)
def test_units_of_a_work_s_time_do_not_change_who_is_better(
    times: list[tuple[Interval, Interval]], unit: float, data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.floats(0.1, 10), min_size=len(times), max_size=len(times)))
    before = [choosing.score([pair[who] for pair in times], weights) for who in (0, 1)]
    scaled = [(times[0][0].times(unit), times[0][1].times(unit)), *times[1:]]
    after = [choosing.score([pair[who] for pair in scaled], weights) for who in (0, 1)]
    assert after[0].low / after[1].low == pytest.approx(before[0].low / before[1].low)


def test_scores_are_related_to_the_best() -> None:
    found = choosing.relative([Interval(9, 11.111), exactly(20)])
    assert choosing.centre(found[0]) == pytest.approx(1)
    assert found[1].low == pytest.approx(20 / math.sqrt(9 * 11.111))


def test_the_cheapest_within_ten_per_cent_of_the_best_is_chosen() -> None:
    choice = choosing.choose(
        [candidate("best", 900, 1), candidate("good", 400, 1.09), candidate("cheap", 100, 1.2)], 0.1
    )
    assert choice.contenders == ("good",)
    assert choice.decided
    assert set(choice.surely) == {"best", "good"}


def test_it_may_be_open_whether_a_network_is_good_enough() -> None:
    choice = choosing.choose(
        [candidate("best", 900, 1), candidate("doubtful", 400, (1.05, 1.15)), candidate("cheap", 100, 1.2)],
        0.1,
    )
    assert not choice.decided
    assert choice.contenders == ("doubtful", "best")
    assert choice.perhaps == ("doubtful",)


def test_a_network_dearer_than_one_surely_good_enough_is_out() -> None:
    choice = choosing.choose(
        [
            candidate("best", 900, 1),
            candidate("dear and doubtful", 800, (1.05, 1.15)),
            candidate("good", 400, 1.05),
        ],
        0.1,
    )
    assert choice.contenders == ("good",)


def test_overlapping_prices_leave_it_open() -> None:
    choice = choosing.choose([candidate("a", (300, 500), 1), candidate("b", (450, 460), 1)], 0.1)
    assert choice.contenders == ("a", "b")
    assert choice.perhaps == ()


def test_without_a_clear_best_all_possible_ones_contend() -> None:
    choice = choosing.choose([candidate("a", 500, (0.8, 1.3)), candidate("b", 400, (0.8, 1.3))], 0.1)
    assert choice.surely == ()
    assert set(choice.contenders) == {"a", "b"}


def test_the_front_has_networks_that_none_beats_in_both() -> None:
    some = [
        candidate("cheap", 1, 9),
        candidate("fast", 9, 1),
        candidate("between", 5, 5),
        candidate("bad", 6, 6),
    ]
    assert [choosing.standing(one, some) for one in some] == [Standing.ON] * 3 + [Standing.OFF]


def test_a_network_that_may_be_beaten_is_perhaps_on_the_front() -> None:
    some = [candidate("a", (4, 6), 1), candidate("b", 5, 1)]
    assert [choosing.standing(one, some) for one in some] == [Standing.PERHAPS] * 2


def test_two_that_are_exactly_alike_are_both_on_the_front() -> None:
    some = [candidate("a", 5, 1), candidate("b", 5, 1)]
    assert [choosing.standing(one, some) for one in some] == [Standing.ON] * 2


def test_the_page_s_column_front_says_whether_a_network_is_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words as on the terminal, whose column head gives the context."""
    monkeypatch.setattr(pareto, "chart", lambda _: None)
    some = [candidate("on", 1, 1), candidate("perhaps", 2, (0.9, 1.1)), candidate("off", 3, 2)]
    judged = tuple(
        JudgedCandidate(one, Priced(one.name, 2, None, ()), (), choosing.standing(one, some)) for one in some
    )
    found = MixJudgement(Mix(), 2, "USD", "network", judged, choosing.choose(some, 0.1))
    picture = showing.front(found)
    column = picture.head.index("front")
    assert [row[column] for row in picture.rows] == ["yes", "perhaps", "no"]


@given(CANDIDATES)
def test_some_candidate_is_never_off_the_front_and_one_always_contends(some: list[Candidate]) -> None:
    assert any(choosing.standing(one, some) is not Standing.OFF for one in some)
    choice = choosing.choose(some, 0.1)
    assert choice.contenders
    assert set(choice.contenders) <= {*choice.surely, *choice.perhaps}


@given(CANDIDATES, st.data())
def test_whatever_the_truth_within_the_intervals_its_answer_contends(
    some: list[Candidate], data: st.DataObject
) -> None:
    """The sentence stays right for all errors within the stated intervals."""

    def drawn(value: Interval) -> Interval:
        return exactly(data.draw(st.floats(value.low, value.high)))

    truth = [Candidate(one.name, drawn(one.price), drawn(one.score)) for one in some]
    best = min(one.score.low for one in truth)
    good = [one for one in truth if one.score.low < 1.0999999 * best]
    answer = min(good, key=lambda one: one.price.low)
    assert answer.name in choosing.choose(some, 0.1).contenders
