"""What runs over TCP record of their lanes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscut.cli import main


def run(out: Path, *words: str) -> dict[str, list[dict[str, int]]]:
    command = ["run", "pairs", "--pairs", "0-1", "-n", "3", "--size", "300KB", "--repetitions", "3"]
    assert main([*command, *words, "--quiet", "--out", str(out)]) == 0
    told = json.loads((out / "zarr.json").read_text())["attributes"]["lanes"]
    return [dict(zip(told["fields"], row, strict=True)) for row in told["rows"]]


def test_the_lanes_on_which_data_was_sent_are_told_with_what_they_sent(tmp_path: Path) -> None:
    lanes = {(one["rank"], one["peer"]): one for one in run(tmp_path / "run.zarr")}
    assert set(lanes) == {(0, 1), (1, 0)}
    for one in lanes.values():
        # Three repetitions and a warm-up at least; a receiver's window may cut a segment short.
        assert one["segments"] * one["segment_bytes"] > 4 * 300_000
        assert 0 < one["least_rtt_us"] <= 1_000_000
        assert one["congestion_window"] > 0


def test_a_small_receive_buffer_is_told_as_the_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run.zarr", "--tcp-receive-buffer", "16KB")
    capsys.readouterr()
    assert main(["show", str(tmp_path / "run.zarr")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "TCP waited for its receiver's window, not for the network" in said
