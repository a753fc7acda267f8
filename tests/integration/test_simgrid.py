"""SimGrid as oracle: the same flows over the same capacities must drain at the same rates.

Pure max-min on both sides: no latency, no overhead, no correction factors. The core writes each network as a
SimGrid platform with the route of every pair, so that routing is crosscut's and sharing SimGrid's.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crosscut.base import core
from crosscut.network import description
from crosscut.run.run import Run

ROOT = Path(__file__).resolve().parents[2]
PLAYER = ROOT / "benchmarks" / "simulate" / "s4u_flows.cpp"
LARGEST_ERROR = 1e-6

NETWORKS = {
    "e7": ('kind = "module-chassis"\nmodules = 4\nasics_per_module = 2\nhosts_per_asic = 8\n'
           'rate = "100 Mbit/s"\nasic_capacity = "700 Mbit/s"\nmodule_rate = "400 Mbit/s"', 64),
    "tree": ('kind = "stacked-tree"\nleaves = 8\nhosts_per_leaf = 16\nrate = "100 Mbit/s"\nuplinks = 1', 128),
    "fat-tree": ('kind = "fat-tree"\nradix = 8\nlevels = 3\nrate = "100 Gbit/s"', 128),
    "tapered clos": ('kind = "clos"\nleaves = 16\nhosts_per_leaf = 16\ntaper = 2\nrate = "100 Gbit/s"', 256),
    "torus": ('kind = "torus"\ndimensions = "3x3x3"\nrate = "100 Gbit/s"', 27),
    "dragonfly": ('kind = "dragonfly"\np = 2\nrate = "100 Gbit/s"', 72),
    "hyperx": ('kind = "hyperx"\ndimensions = "4x4"\nhosts_per_switch = 4\nrate = "100 Gbit/s"', 64),
    "meta-node": ('kind = "meta-node"\nmeta_nodes = 4\nports = 9\nwires = 1\nrate = "100 Gbit/s"', 36),
    "bus": ('kind = "bus"\nhosts = 16\nrate = "100 Gbit/s"', 16),
}  # fmt: skip
PATTERNS = {
    "aapc": ("aapc", "--phases", "1-12"),
    "random-pairwise": ("random-pairwise", "--random-phases", "6"),
    "simple-pairwise": ("simple-pairwise", "--phases", "3-8"),
    "bisection": ("bisection",),
    "aapc-burst": ("aapc-burst",),
    "streams": ("streams",),
}


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles the SimGrid program; skips if SimGrid is not installed."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    program = tmp_path_factory.mktemp("simgrid") / "s4u_flows"
    command = [compiler, "-std=c++17", "-O1", str(PLAYER), "-lsimgrid", "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        if "simgrid/s4u.hpp" in built.stderr:
            pytest.skip("SimGrid is not installed: apt install libsimgrid-dev")
        pytest.fail(built.stderr[-2000:])
    return program


def played(player: Path, platform: Path, flows: Path) -> list[np.ndarray]:
    """Returns [phase] SimGrid's seconds of each flow."""
    done = subprocess.run(
        [player, platform, flows, "--log=root.thresh:error"], capture_output=True, text=True, check=True
    )
    phases: list[list[float]] = [[]]
    for line in done.stdout.splitlines():
        if line.startswith("#"):
            phases.append([])
        else:
            phases[-1].append(float(line))
    return [np.array(phase) for phase in phases[:-1]]


def flows_of(run: Run) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yields (source, destination, bytes, seconds) of each phase simulated by crosscut. Messages that a pair
    sends one after another on a connection are one flow, which ends with the last."""
    seconds = run.message_seconds(0).values[0]
    sizes = run.message_bytes(0).values
    for phase, peers in enumerate(run.dataset["peer"].values):
        rank, slot = np.nonzero(peers >= 0)
        pairs, which = np.unique(np.stack([peers[rank, slot], rank]), axis=1, return_inverse=True)
        flow_bytes, last = np.zeros(pairs.shape[1], np.int64), np.zeros(pairs.shape[1])
        np.add.at(flow_bytes, which.ravel(), sizes[phase, rank, slot])
        np.maximum.at(last, which.ravel(), seconds[phase, rank, slot])
        yield pairs[0], pairs[1], flow_bytes, last


@pytest.mark.parametrize("net", NETWORKS)
def test_rates_are_those_of_simgrid(net: str, player: Path, tmp_path: Path) -> None:
    generator, ranks = NETWORKS[net]
    file = tmp_path / "network.toml"
    file.write_text(f"[generator]\n{generator}\n")
    platform = tmp_path / "platform.xml"
    description.ask("platform", str(file), "--ranks", str(ranks), "--out", str(platform))
    digits = len(str(ranks - 1))
    for name, words in PATTERNS.items():
        if name == "aapc-burst" and ranks > 64:
            continue  # 65,000 flows at once take SimGrid minutes
        out = tmp_path / f"{name}.zarr"
        subprocess.run(
            [core.load().executable, "run", *words, "-n", str(ranks), "--backend", "sim", "--network", file,
             "--size", "1MB", "--out", out],
            check=True, capture_output=True,
        )  # fmt: skip
        phases = list(flows_of(Run.open(out)))
        flows = tmp_path / "flows"
        flows.write_text(
            "\n".join(
                "".join(f"r{s:0{digits}} r{d:0{digits}} {b}\n" for s, d, b in zip(*phase[:3], strict=True))
                for phase in phases
            )
        )
        for phase, theirs in zip(phases, played(player, platform, flows), strict=True):
            np.testing.assert_allclose(phase[3], theirs, rtol=LARGEST_ERROR, err_msg=f"{net}, {name}")
