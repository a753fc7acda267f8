"""`python -m benchmarks.agreement`: ten random networks as labs, with the kernel's TCP, beside the simulator.

Every network of networks.py is built as a lab and measured with `aapc`, and the same file is simulated.
Routes of a phase that the simulator gives the same rate are a class. A phase whose routes are all one class
is uncontended, where that is the links' own rate, or fairly shared: there the median route is what a fluid
model can know. What it cannot know is how unevenly TCP shares: the class's slowest route is shown beside, and
phases of several classes apart, for who ends early leaves capacity to others at another moment than in the
model.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.agreement.networks import Network, random_network
from benchmarks.conditions import describe, preferred, print_table, sentence, write_json
from benchmarks.processes import BenchmarkError
from crosscut.errors import CrosscutError
from crosscut.run import Run

AIM = 0.05
SAME = 0.01
"""Rates that differ by less are one class."""
LIMIT_SECONDS = 900


@dataclass(frozen=True)
class Class:
    """Routes of one phase that the model gives one rate; bytes per second."""

    phase: int
    routes: int
    kind: str
    simulated: float
    median: float
    """Of the lab's routes, over repetitions too."""
    slowest: float
    """Of the lab's routes; the median over repetitions."""

    def of_median(self) -> float:
        return self.median / self.simulated - 1

    def of_slowest(self) -> float:
        return self.slowest / self.simulated - 1


def classes(simulated: NDArray[np.float64], emulated: NDArray[np.float64]) -> list[Class]:
    """From rates [phase, route] and [repetition, phase, route]; NaN where nothing is received."""
    found = []
    alone = float(np.nanmax(simulated))
    for phase, rates in enumerate(simulated):
        groups = _groups(rates)
        for at in groups:
            rate = float(np.mean(rates[at]))
            free = rate > (1 - SAME) * alone
            kind = "several" if len(groups) > 1 else "uncontended" if free else "shared"
            there = emulated[:, phase, at]
            slowest = float(np.median(np.min(there, axis=1)))
            found.append(Class(phase + 1, len(at), kind, rate, float(np.median(there)), slowest))
    return found


def _groups(rates: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Places of rates that differ by less than SAME from the next of them."""
    order = np.argsort(rates)
    order = order[np.isfinite(rates[order])]
    steps = np.nonzero(np.diff(rates[order]) > SAME * rates[order][:-1])[0] + 1
    return [np.asarray(part, np.int64) for part in np.split(order, steps) if len(part)]


def compare(one: Network, folder: Path, size: str, repetitions: int) -> list[Class]:
    file = folder / f"{one.name}.toml"
    file.write_text(one.text, encoding="ascii")
    words = ["--size", size, "--quiet"]
    runs = {}
    for place, more in (
        ("sim", []), ("lab", ["--repetitions", str(repetitions), "--warm-up", "1", "--iterations", "1"]),
    ):  # fmt: skip
        out = folder / f"{one.name}-{place}.zarr"
        _crosscut("run", "aapc", "--on", f"{place}:{file}", *words, *more, "--out", str(out))
        runs[place] = Run.open(out)
    rates = _rates(runs["lab"])
    return classes(_rates(runs["sim"])[0], rates)


def _rates(run: Run) -> NDArray[np.float64]:
    """[repetition, phase, route]"""
    found = run.message_rates(0).transpose("repetition", "phase", "rank", "slot").values
    return np.asarray(found.reshape(*found.shape[:2], -1), np.float64)


def _crosscut(*words: str) -> None:
    command = [sys.executable, "-m", "crosscut", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode != 0:
        raise BenchmarkError(f"{' '.join(words)}: {done.stderr.strip()[-600:]}")


KINDS = {"uncontended": "uncontended phases", "shared": "shared", "several": "classes of mixed phases"}
HEAD = ("network", *(cell for kind in KINDS.values() for cell in (kind, "worst median", "worst slowest")))


def row(name: str, found: list[Class]) -> tuple[str, ...]:
    cells = [name]
    for kind in KINDS:
        there = [c for c in found if c.kind == kind]
        cells += [
            str(len(there)),
            _worst([c.of_median() for c in there]),
            _worst([c.of_slowest() for c in there]),
        ]
    return tuple(cells)


def _worst(errors: list[float]) -> str:
    return f"{100 * max(errors, key=abs):+.1f} %" if errors else ""


def summary(everything: list[Class]) -> str:
    known = [abs(c.of_median()) for c in everything if c.kind != "several"]
    within = sum(error <= AIM for error in known)
    return (
        f"{within} of {len(known)} uncontended and fairly shared phases within {AIM:.0%} of the simulator, "
        f"{100 * np.mean(known):.1f} % off in the mean, {100 * max(known):.1f} % at worst"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.agreement", description="Labs beside the simulator.")
    parser.add_argument("--networks", type=int, default=10, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first")
    parser.add_argument("--size", default="2MB")
    parser.add_argument("--repetitions", type=int, default=5, metavar="R")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="network files and runs stay there")
    parser.add_argument("--out", type=Path, metavar="FILE", help="all figures, as JSON")
    options = parser.parse_args(arguments)
    if os.geteuid() != 0:
        print("not root: labs live in user namespaces, where the kernel permits them", flush=True)
    machine = describe()
    print(sentence(machine), flush=True)
    networks = [random_network(seed) for seed in range(options.seed, options.seed + options.networks)]
    everything: dict[str, list[Class]] = {}
    try:
        with preferred(), tempfile.TemporaryDirectory(prefix="crosscut-agreement-") as scratch:
            folder = options.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            for one in networks:
                everything[one.name] = compare(one, folder, options.size, options.repetitions)
                print(f"{one.name}: {len(everything[one.name])} classes of routes", flush=True)
    except (BenchmarkError, CrosscutError, subprocess.TimeoutExpired) as error:
        print(f"agreement: {error}", file=sys.stderr)
        return 1
    print_table(HEAD, [row(name, found) for name, found in everything.items()])
    print(summary([c for found in everything.values() for c in found]))
    figures = {name: [asdict(c) for c in found] for name, found in everything.items()}
    write_json(options.out, {"machine": machine, "size": options.size, "networks": figures})
    return 0


if __name__ == "__main__":
    sys.exit(main())
