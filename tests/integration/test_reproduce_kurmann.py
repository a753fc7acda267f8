"""Kurmann's figures 7 and 12: streams through a trunk, and chains over one network and over two. Also figures
of a lab that a busy machine spoils."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from in_process import crosscut
from labs import FAST_ETHERNET, crossbar, lab, needs_lab

from crosscut.lab.watching import trust

CHAIN = """
title = "Three nodes in a chain, over two networks"
source = "made for a test"
[[series]]
name = "{name}"
network = "two.toml"
pattern = "chain"
parameters = {{ rails = {rails}, segment = "100KB" }}
message = "10MB"
phases = [1]
quantity = "phase rate"
unit = "Mbit/s"
"""
PAIR = """
title = "A pair"
source = "made for a test"
[[series]]
name = "a pair"
network = "crossbar.toml"
pattern = "pairs"
parameters = { pairs = "0-1" }
message = "10MB"
phases = [1]
quantity = "median rate"
unit = "MB/s"
published = [11.8]
"""


@pytest.fixture
def two_networks(tmp_path: Path) -> Path:
    """Three nodes, each with an adapter on a fast and one on a slower switch."""
    links = "".join(
        f'[[links]]\nbetween = ["n[0-2]", "{switch}"]\nrate = "{rate}"\n'
        for switch, rate in (("fast", "40 Mbit/s"), ("slow", "20 Mbit/s"))
    )
    (tmp_path / "two.toml").write_text(
        '[host]\nadapters = 2\n[[hosts]]\nnames = "n[0-2]"\n[[switches]]\nnames = ["fast", "slow"]\n'
        f"{links}{FAST_ETHERNET}"
    )
    return tmp_path


def reproduced(folder: Path, *words: str) -> tuple[str, dict[str, Any]]:
    done = crosscut("reproduce", *words, "--out", "out", folder=folder)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads((folder / "out" / "result.json").read_text())
    return " ".join(done.stdout.split()), document


def test_simulated_streams_have_the_rates_of_the_published_setup(tmp_path: Path) -> None:
    said, document = reproduced(tmp_path, "kurmann-figure-7", "--on", "sim")
    rows = document["rows"]
    assert len(rows) == 48
    assert [row["simulated"] for row in rows] == pytest.approx([row["calculated"] for row in rows], rel=0.003)
    assert all(row["published"] is None for row in rows)
    (summary,) = document["summary"]
    assert (summary["against"], summary["aim_met"]) == ("calculated", None)
    assert "calculated" in said
    assert "published" not in said


def test_a_chain_over_two_networks_at_once_is_simulated_twice_as_fast(tmp_path: Path) -> None:
    _, document = reproduced(tmp_path, "kurmann-figure-12", "--on", "sim")
    curves = {one["series"]: one["values"] for one in document["curves"]}
    assert len(curves) == 5
    one, both, maintenance, er16, er16_and_maintenance = curves.values()
    assert one == pytest.approx(maintenance, rel=1e-3)
    assert one == pytest.approx(er16, rel=1e-3)
    assert both[0] == pytest.approx(2 * one[0], rel=1e-3)
    assert both == pytest.approx(er16_and_maintenance, rel=1e-3)
    for values in curves.values():
        assert values == sorted(values, reverse=True)  # each further node is two pieces behind


def test_stripes_over_unequal_networks_wait_for_the_slower(two_networks: Path) -> None:
    rates = []
    for rails in (1, 2):
        (two_networks / "chain.toml").write_text(CHAIN.format(name="chain", rails=rails))
        done = crosscut("reproduce", "./chain.toml", "--on", "sim", "--out", f"o{rails}", folder=two_networks)
        assert done.returncode == 0, done.stderr
        document = json.loads((two_networks / f"o{rails}" / "result.json").read_text())
        rates.append(document["rows"][0]["simulated"])
    # Half of the data goes over each, so twice the slower rate, less the piece that the last node is behind.
    payload = 1460 / 1538
    assert rates[0] == pytest.approx(40 * payload * 100 / 101, rel=0.01)
    assert rates[1] == pytest.approx(2 * 20 * payload * 50 / 51, rel=0.01)


@needs_lab
@pytest.mark.usefixtures("own_labs")
def test_in_a_lab_a_chain_uses_one_adapter_per_rail(two_networks: Path) -> None:
    with lab(two_networks / "two.toml"):
        for rails in (1, 2):
            words = ["run", "chain", "--on", "lab:test", "--rails", str(rails), "--size", "2MB"]
            words += ["--segment", "20KB", "--repetitions", "1", "--out", f"r{rails}.zarr", "--quiet"]
            done = crosscut(*words, folder=two_networks)
            assert done.returncode == 0, done.stderr
            facts = json.loads((two_networks / f"r{rails}.zarr" / "zarr.json").read_text())["attributes"]
            before, after = (facts[when]["n2"] for when in ("counters_before", "counters_after"))
            received = {name: after[name]["rx_bytes"] - before[name]["rx_bytes"] for name in ("eth0", "eth1")}
            assert received["eth0"] > 2_000_000 / rails
            assert (received["eth1"] > 1_000_000) == (rails == 2)
        done = crosscut("run", "chain", "--on", "lab:test", "--rails", "3", folder=two_networks)
        assert done.returncode != 0
        assert "needs 3 interfaces, but each rank has only 2" in done.stderr
        assert "Traceback" not in done.stderr


@needs_lab
@pytest.mark.usefixtures("own_labs")
def test_figures_of_a_busy_machine_are_marked_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "LIMITING_SHARE", 0.0)  # any machine counts as busy
    crossbar(tmp_path, 2)
    (tmp_path / "pair.toml").write_text(PAIR)
    said, document = reproduced(tmp_path, "./pair.toml", "--on", "lab", "--repetitions", "1")
    (row,) = document["rows"]
    assert row["emulated_limited"] is True
    (summary,) = document["summary"]
    assert (summary["rows"], summary["left_out"], summary["mean_error"]) == (0, 1, None)
    assert "1 of 1 left out: the machine was the limit, not the network" in said
    assert "machine was the limit" in (tmp_path / "out" / "picture.svg").read_text()
