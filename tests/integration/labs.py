"""Labs in tests, in their own folder, apart from all other labs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from in_process import crosscut

from crosscut.lab import enter, lifecycle, state
from crosscut.lab.switch import program

WALK = Path(__file__).parent / "walk.py"
FAST_ETHERNET = "[protocol]\nmtu = 1500\nheaders = 40\nframing = 38\n"
needs_lab = pytest.mark.skipif(
    os.geteuid() != 0 or lifecycle.unavailable() is not None,
    reason="labs need root here: " + str(lifecycle.unavailable()),
)
# Tests of labs share a process, since one lab's load disturbs another's rates. Those without rates need not
# wait.
without_rates = pytest.mark.xdist_group("labs without rates")
NO_USER_SWITCH = program.unavailable()
"""Why there is no crosscut-switch; empty if there is one."""
# Cases of a test that runs on both switches.
SWITCHES = (
    "kernel",
    pytest.param("user", marks=pytest.mark.skipif(bool(NO_USER_SWITCH), reason=NO_USER_SWITCH)),
)


def crossbar(folder: Path, hosts: int, rate: str = "100 Mbit/s", name: str = "crossbar") -> Path:
    file = folder / f"{name}.toml"
    file.write_text(f'[generator]\nkind = "crossbar"\nhosts = {hosts}\nrate = "{rate}"\n{FAST_ETHERNET}')
    return file


@contextmanager
def lab(
    file: Path | str, name: str = "test", dilation: float = 1.0, switch: str = "kernel"
) -> Iterator[state.Record]:
    choices = lifecycle.Choices(name=name, dilation=dilation, switch=switch)
    record = lifecycle.up(str(file), choices)
    try:
        yield record
    finally:
        lifecycle.down(name)


def on_node(record: state.Record, node: str, *words: str) -> str:
    command = enter.command(record, state.folder(record.name), node, words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ways_from(record: state.Record, node: str, addresses: list[str]) -> dict[str, list[str]]:
    """Returns the hops to each address, as traceroutes on the node see them."""
    found: dict[str, list[str]] = json.loads(on_node(record, node, sys.executable, str(WALK), *addresses))
    return found


def median_rates(folder: Path, *words: str) -> dict[str, float]:
    """Runs `crosscut run` with these words. Returns bytes per second by route, medians over all samples."""
    out = folder / "run.zarr"
    done = crosscut("run", *words, "--out", str(out), "--quiet", folder=folder)
    assert done.returncode == 0, done.stderr
    import xarray as xr

    found: dict[str, list[float]] = {}
    with xr.open_zarr(out) as data:
        hosts = [data.attrs["nodes"][index]["name"] for index in data["node"].values]
        per = data["bytes"] if "bytes" in data else data["size"]
        for phase in range(data.sizes["phase"]):
            for rank in range(data.sizes["rank"]):
                peer = int(data["peer"].values[phase, rank, 0])
                if peer >= 0:
                    seconds = data["message_seconds"].values[0, :, phase, rank, 0]
                    size = float(per.values.flat[0])
                    found.setdefault(f"{hosts[peer]}-{hosts[rank]}", []).extend(size / seconds)
    return {route: sorted(rates)[len(rates) // 2] for route, rates in found.items()}
