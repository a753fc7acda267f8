"""The caution about ranks on cores that are not near their network adapter."""

from __future__ import annotations

import pytest
from made_runs import aapc_view

from crosscut.analysis.figures.cautions import CautionKind
from crosscut.reports.words import about


def told(*nodes: dict[str, object]) -> list[str]:
    named = [{"name": f"n{number:03}"} | one for number, one in enumerate(nodes)]
    view = aapc_view(attributes={"nodes": named})
    return [one.text for one in about.beware(view, []) if one.kind is CautionKind.FAR_RANKS]


def node(far: object, near: object = "4-7,12-15") -> dict[str, object]:
    return {"far_ranks": far, "adapters": [{"name": "ib0", "near_cores": near}, {"name": "lo"}]}


def test_nodes_whose_ranks_may_run_far_from_the_adapter_are_named() -> None:
    assert told(node(1), {}, {"adapters": []}, {}) == [
        "1 of 1 rank on n000 may run on cores that are not near its adapter (near ones: 4-7,12-15): between "
        "sockets, latencies are longer and rates can be lower"
    ]
    (both,) = told({}, node(1), node(1), {})
    assert "on n001 " in both
    assert "and ranks on 1 other node:" in both


def test_near_ranks_need_no_caution() -> None:
    assert told({}, {"adapters": [{"name": "ib0", "near_cores": "0-3"}]}, {}, {}) == []


@pytest.mark.parametrize("far", ["many", None, float("nan"), -1, True, [1]])
def test_a_hostile_number_of_far_ranks_says_nothing(far: object) -> None:
    assert told(node(far), {}, {}, {}) == []


def test_more_far_ranks_than_there_are_ranks_are_no_more_than_all() -> None:
    (text,) = told(node(float("inf"), near=7), {}, {}, {})
    assert text.startswith("1 of 1 rank on n000 may run on cores that are not near its adapter: ")
