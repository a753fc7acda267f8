"""Expectations: the arithmetic against figures computed by hand."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import pingpong_view

from crosscut.analysis.figures.expectation import Path, expect
from crosscut.base import nic
from crosscut.base.errors import UsageError
from crosscut.cli.expect import _measured
from crosscut.run.run import Run

UNKNOWN = Path()


def expected(adapter, path=UNKNOWN, timestamps=False):
    return expect(adapter, path, timestamps=timestamps, loopback_seconds=10e-6, cable_metres=0)


def test_fast_ethernet_carries_1460_of_1538_bytes():
    found = expected(nic.Adapter("eth0", 100e6))
    assert found.route_bytes_per_second == pytest.approx(12.5e6 * 1460 / 1538)


def test_timestamps_take_twelve_more_bytes():
    found = expected(nic.Adapter("eth0", 100e6), timestamps=True)
    assert found.route_bytes_per_second == pytest.approx(12.5e6 * 1448 / 1538)


def test_a_slot_of_eight_lanes_of_generation_three_limits_a_hundred_gigabit_adapter():
    found = expected(nic.Adapter("eth0", 100e9, 9000, True, 8.0, 8))
    assert found.limit == "PCI Express"
    assert found.route_bytes_per_second == pytest.approx(8e9 * 8 / 8 * 128 / 130 * 256 / 284)


def test_a_slower_port_of_the_switch_limits_the_rate():
    found = expected(nic.Adapter("eth0", 10e9), Path(host_link_bits_per_second=1e9, efficiency=0.9))
    assert found.route_bytes_per_second == pytest.approx(1e9 / 8 * 0.9)
    assert "port" in found.limit


def test_latency_sums_software_and_frames_through_every_switch():
    found = expected(nic.Adapter("eth0", 1e9), Path(switches=3))
    assert found.latency_seconds == pytest.approx(10e-6 + 4 * 84 * 8 / 1e9)


def test_an_adapter_is_read_from_sys_and_hidden_properties_are_unknown(tmp_path):
    for name, speed in (("eth0", "25000"), ("eth1", "-1")):
        device = tmp_path / "class" / "net" / name / "device"
        device.mkdir(parents=True)
        (device.parent / "speed").write_text(f"{speed}\n")
        (device.parent / "mtu").write_text("9000\n")
        (device / "current_link_speed").write_text("16.0 GT/s PCIe\n")
        (device / "current_link_width").write_text("8\n")
    (tmp_path / "class" / "net" / "lo").mkdir()
    known, hidden = nic.adapters(tmp_path)
    assert (known.bits_per_second, known.mtu_bytes, known.pcie_gigatransfers, known.pcie_lanes) == (
        25e9,
        9000,
        16,
        8,
    )
    assert math.isnan(hidden.bits_per_second)


def test_loopback_has_an_answer():
    assert 0 < nic.loopback_seconds() < 1


def sweep_without(size_index: int) -> Run:
    """A sweep whose messages of one size were not measured."""
    whole = pingpong_view()
    status = whole.dataset["status"].copy()
    status[size_index] = 0
    return replace(
        whole, dataset=whole.dataset.assign(status=status, iterations=(("size",), np.ones(3, int)))
    )


def measured_of(run: Run, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(Run, "open", lambda _: run)
    found = _measured(argparse.Namespace(run="made.zarr"), expected(nic.Adapter("eth0", 1e9)))
    assert all(math.isfinite(one.value) for one in found)
    return [one.what for one in found]


def test_a_run_without_its_smallest_size_is_compared_by_rates_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured_of(sweep_without(1), monkeypatch)[2:] == ["latency, messages of 1 B"]
    assert measured_of(sweep_without(0), monkeypatch)[2:] == []


def test_a_run_without_its_largest_size_is_refused_by_that_size(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no measured message of 1 MB between two nodes"):
        measured_of(sweep_without(2), monkeypatch)
