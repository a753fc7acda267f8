"""`python -m benchmarks.simulate`: the simulator's time per phase, against SimGrid's and alone at scale.

A phase is a random permutation of all hosts of a fat tree, with messages of 1 MB and routes by
destination-modulo. Against SimGrid: the same flows over the same capacities in S4U (routes written out in the
platform, pure max-min model); both programs take turns. SimGrid's time is that to start the flows and wait
for the last; ours that of routing, indexing, solving and samples. SMPI's is that of a whole phase of
`crosscut run --engine smpi`, barrier included, from the difference of two runs. Alone: time and peak memory
with up to a million hosts, on one core and on all.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.conditions import describe, preferred, print_table, sentence, write_json
from benchmarks.processes import BenchmarkError
from benchmarks.ratios import Ratio, ratio_of
from crosscut.base.errors import CrosscutError
from crosscut.network import description as network
from crosscut.places.smpi import engines

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "benchmarks" / "simulate"
PATTERN = "random-pairwise"
BESIDE = (64, 256, 1024)
ALONE = ("fat-tree-1024", "fat-tree-10240", "fat-tree-65536", 100_000, "fat-tree-1m")
"""Names from the catalogue, or the least number of hosts of a generated fat tree."""
PHASES, ROUNDS = 16, 5
SMPI_SHORT, SMPI_FLOWS = 20, 100_000
LIMIT_SECONDS = 900


@dataclass(frozen=True)
class Alone:
    network: str
    hosts: int
    workers: int
    reading_seconds: float
    phase_seconds: float
    """The median phase; with several workers the time of all phases over their number."""
    peak_bytes: float


def build() -> tuple[Path, Path | None]:
    """Builds and returns (solve_phases, s4u_flows); the latter is None without SimGrid."""
    configure = ["cmake", "-S", ROOT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release", "-DCROSSCUT_MPI=OFF",
                 "-DCROSSCUT_TESTS=OFF"]  # fmt: skip
    for command in (configure, ["cmake", "--build", BUILD, "--parallel", "2", "--target", "solve_phases"]):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchmarkError(f"building solve_phases: {(done.stderr or done.stdout)[-600:]}")
    player = BUILD / "s4u_flows"
    compiler = shutil.which("c++") or "c++"
    source = Path(__file__).parent / "s4u_flows.cpp"
    done = subprocess.run(
        [compiler, "-std=c++17", "-O3", source, "-lsimgrid", "-o", player],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return BUILD / "core" / "solve_phases", player if done.returncode == 0 else None


def solve(program: Path, net: str, ranks: int, phases: int, *words: str | int | Path) -> dict[str, Any]:
    command = [str(word) for word in (program, net, ranks, PATTERN, phases, *words)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=network.environment(), timeout=LIMIT_SECONDS, check=False
    )
    if done.returncode != 0:
        raise BenchmarkError(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def simgrid(player: Path, platform: Path, flows: Path) -> list[float]:
    """Returns the wall seconds of each phase."""
    done = subprocess.run(
        [player, platform, flows, "--log=root.thresh:error"],
        capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise BenchmarkError(f"SimGrid: {done.stderr.strip()[-400:]}")
    return [float(line[1:]) for line in done.stdout.splitlines() if line.startswith("#")]


def fat_tree(folder: Path, hosts: int) -> Path:
    """Writes the smallest fat tree of three levels and full bisection with at least `hosts` hosts: it has
    (radix / 2)^2 * radix = radix^3 / 4."""
    radix = next(radix for radix in range(4, 129, 2) if radix**3 // 4 >= hosts)
    file = folder / f"fat-tree-{hosts}.toml"
    file.write_text(
        f'[generator]\nkind = "fat-tree"\nradix = {radix}\nlevels = 3\nrate = "100 Gbit/s"\n'
        '[routing]\nspread = "destination-modulo"\n'
    )
    return file


def smpi(net: Path, folder: Path, hosts: int) -> float:
    """Returns the wall seconds per phase of `crosscut run --engine smpi`, from a long and a short run."""
    walls = []
    more = SMPI_FLOWS // hosts
    for phases in (SMPI_SHORT, SMPI_SHORT + more):
        out = folder / f"smpi-{phases}.zarr"
        command = [sys.executable, "-m", "crosscut", "run", PATTERN, "--on", f"sim:{net}", "--engine", "smpi",
                   "--size", "1MB", "--random-phases", str(phases), "--out", str(out)]  # fmt: skip
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        walls.append(time.perf_counter() - start)
        if done.returncode != 0:
            raise BenchmarkError(f"SMPI: {done.stderr.strip()[-400:]}")
    return (walls[1] - walls[0]) / more


@dataclass(frozen=True)
class Beside:
    hosts: int
    ratio: Ratio
    """S4U's time over ours, phase by phase."""
    crosscut_seconds: float
    s4u_seconds: float
    smpi_seconds: float | None
    """None without SMPI."""

    def row(self) -> tuple[str, ...]:
        ratio = f"{self.ratio.ratio:.0f} ({self.ratio.low:.0f}–{self.ratio.high:.0f})"
        times = [f"{1e3 * seconds:.3g}" for seconds in (self.crosscut_seconds, self.s4u_seconds)]
        rates = [f"{self.hosts / seconds:,.0f}" for seconds in (self.crosscut_seconds, self.s4u_seconds)]
        if self.smpi_seconds is None:
            return (f"{self.hosts:,}", *times, "–", *rates, "–", ratio)
        return (f"{self.hosts:,}", *times, f"{1e3 * self.smpi_seconds:.3g}",
                *rates, f"{self.hosts / self.smpi_seconds:,.0f}", ratio)  # fmt: skip


def beside(program: Path, player: Path, hosts: int) -> Beside:
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory(prefix="crosscut-simulate-") as folder:
        net = fat_tree(Path(folder), hosts)
        platform, flows = Path(folder) / "platform.xml", Path(folder) / "flows"
        network.ask("platform", str(net), "--ranks", str(hosts), "--out", str(platform))
        for turn in range(ROUNDS):

            def mine() -> None:
                ours.extend(solve(program, str(net), hosts, PHASES, 1, flows)["phase_seconds"])

            if turn % 2 == 0 or not flows.exists():
                mine()
                theirs.extend(simgrid(player, platform, flows))
            else:
                theirs.extend(simgrid(player, platform, flows))
                mine()
        there = any(engine.name == "smpi" and not engine.unavailable for engine in engines())
        by_smpi = smpi(net, Path(folder), hosts) if there else None
    return Beside(hosts, ratio_of(theirs, ours), statistics.median(ours), statistics.median(theirs), by_smpi)


def alone(program: Path, which: str | int, workers: int) -> Alone:
    if isinstance(which, str):
        return alone_on(program, which, which, workers)
    with tempfile.TemporaryDirectory(prefix="crosscut-simulate-") as folder:
        file = fat_tree(Path(folder), which)
        return alone_on(program, str(file), file.stem, workers)


def alone_on(program: Path, net: str, name: str, workers: int) -> Alone:
    hosts = network.ranks(net)
    phases = 12 if hosts <= 100_000 else 4
    found = solve(program, net, hosts, phases, workers)
    seconds = (
        statistics.median(found["phase_seconds"]) if workers == 1 else found["all_phases_seconds"] / phases
    )
    return Alone(name, hosts, workers, found["reading_seconds"], seconds, found["peak_bytes"])


def slope(points: list[Alone]) -> float:
    """Returns the exponent of phase time over hosts, by least squares of logarithms."""
    xs, ys = [math.log(one.hosts) for one in points], [math.log(one.phase_seconds) for one in points]
    return statistics.linear_regression(xs, ys).slope


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write everything as JSON")
    args = parser.parse_args(argv)
    machine = describe()
    print(sentence(machine), flush=True)
    try:
        program, player = build()
        compared: list[Beside] = []
        with preferred():
            if player is None:
                print("SimGrid is not installed (apt install libsimgrid-dev): not compared")
            for hosts in BESIDE if player else ():
                assert player is not None
                compared.append(beside(program, player, hosts))
            if compared:
                head = ("hosts", "crosscut, ms", "S4U, ms", "SMPI, ms", "crosscut, flows/s", "S4U, flows/s",
                        "SMPI, flows/s", "S4U / crosscut (95 %)")  # fmt: skip
                print_table(head, [one.row() for one in compared])
            workers = len(os.sched_getaffinity(0))
            single = [alone(program, net, 1) for net in ALONE]
            several = [alone(program, net, workers) for net in ALONE]
    except (BenchmarkError, CrosscutError, subprocess.TimeoutExpired) as error:
        print(f"benchmark failed: {error}", file=sys.stderr)
        return 1
    print_table(
        ("network", "hosts", "read, s", "phase on 1 core, ms", f"phase on {workers} cores, ms", "peak, MB"),
        [
            (one.network, f"{one.hosts:,}", f"{one.reading_seconds:.2f}", f"{1e3 * one.phase_seconds:.2f}",
             f"{1e3 * both.phase_seconds:.2f}", f"{both.peak_bytes / 1e6:.0f}")
            for one, both in zip(single, several, strict=True)
        ],
    )  # fmt: skip
    print(f"the time per phase grows as hosts^{slope(single):.2f} on one core")
    write_json(args.out, {"machine": machine, "slope": slope(single),
                          "beside": [asdict(one) for one in compared],
                          "alone": [asdict(one) for one in (*single, *several)]})  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
