"""What a run does not show is not told: no groups, no cause, no latency."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_runs import aapc_view, pingpong_view

from crosscut.analysis.figures import cautions
from crosscut.analysis.findings import explain, of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.structure.observed import Observed


@pytest.mark.parametrize(
    ("phases", "told"), [(slice(0, 7), False), (slice(0, 8), True), (slice(24, 31), False)]
)
def test_nothing_is_told_of_messages_among_near_ranks(phases: slice, told: bool) -> None:
    view = aapc_view(ranks=32)
    found, structure = of_run.look(replace(view, dataset=view.dataset.isel(phase=phases)))
    assert (structure is not None) == told
    if not told:
        assert [one.kind for one in found] == [FindingKind.INCONCLUSIVE]
        assert "no message went farther than 7 ranks of 32" in found[0].what


def test_slow_messages_that_no_inferred_limit_explains_do_not_clear_the_network() -> None:
    rate = np.full(40, 1e9)
    rate[:10] = 3e8
    ends = np.arange(40) % 8
    seen = Observed(8, np.repeat(np.arange(5), 8), ends, (ends + 1) % 8, rate)
    assert "does not show what they share" in explain.unexplained(seen, [0, 1], by_run=True)
    for phases, by_run in (([0, 1], False), ([3, 4], True)):
        assert "no shared capacity limits" in explain.unexplained(seen, phases, by_run=by_run)


@pytest.mark.parametrize(("sizes", "latency", "warns"), [
    ((1, 1000, 100_000), 0.0, True), ((1, 1000, 100_000), 1e-6, False), ((1_000_000,), 1e-6, False),
])  # fmt: skip
def test_only_short_messages_show_that_a_network_has_no_latency(
    sizes: tuple[int, ...], latency: float, warns: bool
) -> None:
    view = pingpong_view(sizes)
    times = np.array([latency + 1e-9 * size for size in sizes])
    view.dataset["message_seconds"][:, :, 0, 0, 0] = times[:, None]
    assert [one.kind for one in cautions.of_latency(view.measured())] == [
        cautions.CautionKind.NO_LATENCY
    ] * warns
