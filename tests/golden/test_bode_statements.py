"""What Bode, Hill and Benjegerdes (FREENIX 2004) state in words: each sentence as a test."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from crosscut.pricing import asking
from crosscut.pricing.amounts import Interval

NETWORKS = (
    "gige-acenic", "gige-broadcom", "myrinet-single", "myrinet-dual", "sci", "quadrics-qsnet2",
    "infiniband-infinicon", "infiniband-4x",
)  # fmt: skip
KB = 1000


def seconds(compare: ModuleType, name: str, size: int) -> float:
    """Half the round trip between two nodes."""
    run = compare.simulate(f"bode-{name}-2", ["pingpong"], ranks=2, message=size)
    return float(np.nanmedian(run.message_seconds(0).values))


def rate(compare: ModuleType, name: str, size: int) -> float:
    """NetPIPE's, in bytes per second."""
    return size / seconds(compare, name, size)


def price(name: str, nodes: int = 64) -> Interval:
    """A node's, of the network alone, in US dollars."""
    found = asking.price(f"bode-{name}", nodes, [], None)
    assert found.bill is not None, found.reason
    return found.bill.per_node


def test_most_curves_reach_their_peak_above_128_kb_and_some_above_1_mb(compare: ModuleType) -> None:
    """Section 2, which does not say how near the peak is.

    For 99 % of the peak it holds; 95 % of it all but the AceNIC have at 128 KB.
    """
    peaks = {name: rate(compare, name, 1000 * KB * KB) for name in NETWORKS}
    at_128_kb = {name: rate(compare, name, 128 * KB) / peaks[name] for name in NETWORKS}
    assert [name for name in NETWORKS if at_128_kb[name] > 0.99] == ["sci"]
    assert [name for name in NETWORKS if at_128_kb[name] < 0.95] == ["gige-acenic"]
    assert rate(compare, "gige-acenic", KB * KB) < 0.99 * peaks["gige-acenic"]


def test_jumbo_frames_save_a_factor_of_six(compare: ModuleType) -> None:
    """Section 2.1: bytes that are not payload, for each byte of payload."""
    broadcom, acenic = (
        12.5e7 / rate(compare, name, 1000 * KB * KB) - 1 for name in ("gige-broadcom", "gige-acenic")
    )
    assert broadcom / acenic == pytest.approx(6, rel=0.03)


def test_at_10_kb_the_broadcom_is_significantly_faster_than_the_acenic(compare: ModuleType) -> None:
    """Section 2.1 and figure 1, although its peak is lower."""
    assert rate(compare, "gige-broadcom", 10 * KB) > 1.4 * rate(compare, "gige-acenic", 10 * KB)
    assert rate(compare, "gige-broadcom", 10**8) < rate(compare, "gige-acenic", 10**8)


def test_switches_joined_by_trunks_lack_bisection_until_half_of_their_ports_are_trunks(
    compare: ModuleType,
) -> None:
    """Section 2.1: costly, and generally not enough. Two switches of 48 ports."""
    for trunks in (1, 2, 4, 8, 16, 24):
        shown = compare.described(
            f'[[hosts]]\nnames = "a[00-{47 - trunks}]"\n[[hosts]]\nnames = "b[00-{47 - trunks}]"\n'
            '[[switches]]\nnames = "switch[0-1]"\n[link]\nrate = "1 Gbit/s"\n'
            f'[[links]]\nbetween = ["a[00-{47 - trunks}]", "switch0"]\n'
            f'[[links]]\nbetween = ["b[00-{47 - trunks}]", "switch1"]\n'
            f'[[links]]\nbetween = ["switch0", "switch1"]\ncables = {trunks}\n'
        )
        share = shown["bisection"]["per_host_of_half_bits_per_second"] / 1e9
        assert share == pytest.approx(trunks / (48 - trunks))


def test_gigabit_ethernet_costs_least_and_quadrics_nearly_twice_its_competitors() -> None:
    """Sections 2.1, 2.4 and 4, which leave 10 Gigabit Ethernet aside: it costs most."""
    ethernet, infiniband, quadrics = (
        price(name) for name in ("gige-broadcom-64", "infiniband-4x-64", "quadrics-qsnet2-64")
    )
    middle = [price(name) for name in ("myrinet-single-64", "myrinet-dual-64", "sci-64")]
    for one in middle:
        assert ethernet.high < one.low
        assert one.high < quadrics.low
    assert quadrics.low / infiniband.high < 2 < quadrics.high / infiniband.low
    assert price("10gige-48", 48).low > quadrics.high


def test_a_node_s_part_of_sci_costs_the_same_in_small_and_large_clusters() -> None:
    """Section 4, within the sizes of two dimensions and of three."""
    assert price("sci-64", 16) == price("sci-64", 64) == price("sci-64", 100)
    assert price("sci-64", 200) == price("sci-64", 1000)


def test_quadrics_has_the_least_latency_and_gigabit_ethernet_performs_worst(compare: ModuleType) -> None:
    """Sections 2.4, 2.5 and 4. Latencies and most rates come from the paper, so only a file can be wrong."""
    times = {name: seconds(compare, name, 1) for name in NETWORKS}
    assert min(times, key=lambda name: times[name]) == "quadrics-qsnet2"
    # A bit higher than the others that bypass the operating system; the printed 6 to 7 us are also Myrinet's.
    bypassing = ("quadrics-qsnet2", "sci", "myrinet-single", "myrinet-dual")
    assert all(times[name] <= 1.001 * times["infiniband-4x"] for name in bypassing)
    peaks = {name: rate(compare, name, 10**8) for name in NETWORKS}
    ethernets = {"gige-acenic", "gige-broadcom"}
    assert set(sorted(NETWORKS, key=lambda name: peaks[name])[:2]) == ethernets
    assert set(sorted(NETWORKS, key=lambda name: -times[name])[:2]) == ethernets
    # Quadrics is at the top in performance: only InfiniBand with one of its libraries has a higher peak.
    assert sorted(NETWORKS, key=lambda name: -peaks[name])[:2] == ["infiniband-infinicon", "quadrics-qsnet2"]


def test_infiniband_s_switches_lead_as_much_up_as_down(compare: ModuleType) -> None:
    """Section 2.5: 12 ports of 4X (10 Gbit/s) to nodes, 4 of 12X (30 Gbit/s) to other switches."""
    shown = compare.described(
        '[generator]\nkind = "clos"\nleaves = 8\nhosts_per_leaf = 12\nspines = 4\n'
        'rate = "10 Gbit/s"\nuplink_rate = "30 Gbit/s"\n'
    )
    assert shown["counts"]["hosts"] == 96
    assert shown["bisection"]["per_host_of_half_bits_per_second"] == pytest.approx(10e9)
