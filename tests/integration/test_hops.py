"""Latency by route with known latencies: the routed Beowulf of Salmon, Stein and Sterling (SC98)."""

import json

import pytest

from crosscut import cli
from crosscut.base import core
from crosscut.base.core import CoreError


@pytest.fixture(autouse=True)
def needs_core():
    try:
        core.load()
    except CoreError as error:
        pytest.skip(f"needs the core: {error}")


def told(run, capsys):
    capsys.readouterr()
    assert cli.main(["show", str(run), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["latency_by_hops"]


def measured(folder, *words):
    run = folder / "run.zarr"
    assert cli.main(["run", *words, "--size", "1B", "--quiet", "--out", str(run)]) == 0
    return run


def test_a_switch_and_a_forwarding_host_add_the_latencies_of_the_file(tmp_path, capsys):
    run = measured(tmp_path, "pingpong", "--pairs", "all", "--on", "sim:beowulf-routed-4x9", "-n", "36")
    found = told(run, capsys)
    assert found["switch_seconds"]["median"] == pytest.approx(25e-6, rel=1e-3)
    assert found["forwarding_host_seconds"]["median"] == pytest.approx(75e-6, rel=1e-3)
    assert sum(one["routes"] for one in found["classes"]) == 36 * 35 // 2
    assert cli.main(["show", str(run)]) == 0
    assert "each forwarding host adds 75.0 µs" in " ".join(capsys.readouterr().out.split())


def test_nothing_is_reported_if_all_routes_are_alike(tmp_path, capsys):
    run = measured(tmp_path, "pingpong", "--pairs", "all", "--on", "sim:xibalba-er16", "-n", "4")
    assert told(run, capsys) is None
