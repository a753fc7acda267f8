"""What the papers state in words, without a table: each sentence as a test on a simulated network."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from crosscut.analysis.stats.intervals import Floats

MIB = 1 << 20


def phase_rates(compare: ModuleType, network: str, ranks: int) -> Floats:
    """[phase - 1] MiB/s of the slowest node in an all-to-all of 40 MiB messages."""
    run = compare.simulate(network, ["aapc"], ranks=ranks, message=40 * MIB)
    return np.asarray(40 / run.rank_seconds(0).max("rank").values[0])


def phases(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[int]:
    return (np.nonzero(chosen)[0] + 1).tolist()


def test_e7_with_60_nodes_is_slow_in_phases_9_to_51(compare: ModuleType) -> None:
    """Kurmann, section 6: where more than eight nodes send from one module to another."""
    rates = phase_rates(compare, "xibalba-e7-config1", 60)
    assert phases(rates < 0.99 * rates.max()) == list(range(9, 52))


def test_the_maintenance_network_is_a_little_faster_at_both_ends(compare: ModuleType) -> None:
    """Kurmann, section 6: in phases 1 to 15 and 44 to 59, where some messages stay within a switch.

    In phase 44 all 16 nodes of a switch send to others, so ours begins with 45.
    """
    rates = phase_rates(compare, "xibalba-maintenance", 60)
    assert phases(rates > 1.01 * rates.min()) == [*range(1, 16), *range(45, 60)]
    assert rates.min() == pytest.approx(11.32 / 16, rel=0.01)


def test_the_er16_reaches_over_10_on_average(compare: ModuleType) -> None:
    """Kurmann, section 6."""
    assert phase_rates(compare, "xibalba-er16", 60).mean() > 10


def test_e7_with_32_nodes_is_over_10_in_every_phase(compare: ModuleType) -> None:
    """Kurmann, section 5.2, configuration 1."""
    assert phase_rates(compare, "xibalba-e7-config1", 32).min() > 10


def test_two_processors_that_share_a_myrinet_adapter_get_about_half(compare: ModuleType) -> None:
    """Kurmann, section 6: 60 processors on 30 nodes against 30 on as many nodes."""
    single, shared = (
        phase_rates(compare, network, ranks).mean()
        for network, ranks in (("xibalba-myrinet", 30), ("xibalba-myrinet-shared", 60))
    )
    assert shared == pytest.approx(single / 2, rel=0.2)
