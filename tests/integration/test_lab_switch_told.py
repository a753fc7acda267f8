"""All texts about a lab name its switch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import crosscut
from labs import FAST_ETHERNET, NO_USER_SWITCH, needs_lab

pytestmark = [needs_lab, pytest.mark.usefixtures("own_labs")]
FAIR = ("kernel,queues=fair", "senders in turn (queues=fair)")
CUT = pytest.param(
    "user,forwarding=cut",
    "carried by crosscut-switch (forwarding=cut)",
    marks=pytest.mark.skipif(bool(NO_USER_SWITCH), reason=NO_USER_SWITCH),
)
QUICK = ("--size", "10KB", "--repetitions", "2")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "two.toml"
    file.write_text('[generator]\nkind = "crossbar"\nhosts = 2\nrate = "20 Mbit/s"\n' + FAST_ETHERNET)
    return file


@pytest.mark.parametrize(("switch", "words"), [FAIR, CUT])
def test_up_status_and_the_run_name_the_switch_and_the_dilation(
    network: Path, tmp_path: Path, switch: str, words: str
) -> None:
    def told(*typed: str) -> str:
        done = crosscut(*typed, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split())

    assert words in told("lab", "up", str(network), "--name", "test", "--switch", switch, "--dilate", "2")
    try:
        table, one = told("lab", "status"), told("lab", "status", "test")
        assert f"{switch} 1/2" in table
        assert words.removeprefix("carried by ") in one
        assert "rates divided by 2" in one
        (listed,) = json.loads(told("lab", "status", "--json"))["labs"]
        assert (listed["switch"], listed["dilation"]) == (switch, 2)
        summary = told("run", "aapc", "--on", "lab:test", *QUICK, "--out", "run.zarr")
        shown = told("show", "run.zarr")
    finally:
        crosscut("lab", "down", "test", folder=tmp_path)
    assert f"{words}; in slow motion: multiply rates by 2" in shown
    assert words in summary


def test_the_default_switch_is_named_nowhere(network: Path, tmp_path: Path) -> None:
    try:
        up = crosscut("lab", "up", str(network), "--name", "test", folder=tmp_path).stdout
        assert "2 nodes, 1 bridge, built in" in up
        assert "queues" not in crosscut("lab", "status", "test", folder=tmp_path).stdout
    finally:
        crosscut("lab", "down", "test", folder=tmp_path)
