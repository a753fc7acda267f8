"""`python -m benchmarks.agreement`: ten random networks as labs, with the kernel's TCP, and simulated.

Each network of networks.py is built as a lab and measured with `aapc`, and the same file is simulated.
The routes of a phase that have the same rate under every notion of fairness (sharing.py) form a class:
uncontended if that is the rate of a route alone, otherwise fairly shared. A fluid model can predict the
median of the uncontended routes, and what full links carry for the shared ones. It cannot predict how
unevenly TCP shares: the shared routes' median and slowest are shown for comparison. The rates of a phase's
other routes depend on how TCP weighs routes through several full links, and on routes that end early and
leave capacity to others: for them only the slowest route is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.agreement.networks import Network, random_network
from benchmarks.agreement.sharing import Tied, carried, fairly_shared, full_alone, passed
from benchmarks.conditions import describe, preferred, print_table, sentence, write_json
from benchmarks.processes import BenchmarkError, crosscut, exit_when_terminated
from crosscut.analysis.figures.limited import limited_phases
from crosscut.base.errors import CrosscutError
from crosscut.network import description
from crosscut.run.run import Run

AIM = 0.05
SAME = 0.01
"""Rates that differ by less are the same."""
LIMIT_SECONDS = 900

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Capacities = Mapping[tuple[int, int], list[tuple[str, float]]]
"""By a route's ranks: name and payload bytes per second of each capacity that it shares with others."""


@dataclass(frozen=True)
class Class:
    """Routes of one phase; bytes per second."""

    phase: int
    routes: int
    kind: str
    """`uncontended`, `shared`, or `open`: the phase's other routes, of which only the slowest is compared."""
    simulated: float
    median: float
    """Median rate on the lab, over routes and repetitions."""
    slowest: float
    """Rate of the slowest route on the lab, median over repetitions."""
    carried: float | None = None
    """Bytes per second and route on links that the shared routes fill by themselves; median over links and
    repetitions."""

    def known(self) -> float:
        """Relative difference of the lab from the simulator, in what a fluid model can predict."""
        return (self.carried or self.median) / self.simulated - 1

    def of_median(self) -> float:
        return self.median / self.simulated - 1

    def of_slowest(self) -> float:
        return self.slowest / self.simulated - 1


def classes(
    phases: Integers, sources: Integers, simulated: Floats, emulated: Floats, of: Capacities
) -> list[Class]:
    """Sorts routes into classes. `simulated`: rates [phase, receiver]; `emulated`: rates [repetition, phase,
    receiver]; NaN if nothing is received."""
    found = []
    alone = float(np.nanmax(simulated))
    for number, phase in enumerate(phases.tolist()):
        receivers = np.nonzero(np.isfinite(simulated[number]))[0]
        passes, capacity = passed([of[int(sources[number, to]), int(to)] for to in receivers])
        rest = np.ones(len(receivers), bool)
        alike: dict[float, list[Tied]] = {}
        there = emulated[:, number, receivers]
        model = simulated[number, receivers]
        for tie in fairly_shared(passes, capacity):
            if np.ptp(model[tie.routes]) > SAME * tie.bytes_per_second:
                continue  # another route that ends early leaves them more
            rest[tie.routes] = False
            alike.setdefault(round(tie.bytes_per_second), []).append(tie)
        for rate, ties in alike.items():
            routes = np.concatenate([tie.routes for tie in ties])
            one = _class(phase, "uncontended", model[routes], there[:, routes])
            if rate < (1 - SAME) * alone:
                full = [routes for tie in ties for routes in full_alone(passes, capacity, tie)]
                shares = [carried(row[routes], alone) / len(routes) for routes in full for row in there]
                one = replace(one, kind="shared", carried=float(np.median(shares)))
            found.append(one)
        if rest.any():
            found.append(_class(phase, "open", np.min(model[rest], keepdims=True), there[:, rest]))
    return found


def _class(phase: int, kind: str, simulated: Floats, there: Floats) -> Class:
    slowest = float(np.median(np.min(there, axis=1)))
    return Class(phase, there.shape[1], kind, float(np.mean(simulated)), float(np.median(there)), slowest)


def compare(one: Network, folder: Path, size: str, repetitions: int, switch: str) -> list[Class]:
    file = folder / f"{one.name}.toml"
    file.write_text(one.text, encoding="ascii")
    words = ["--size", size, "--quiet"]
    runs = {}
    for place, more in (
        ("sim", []),
        (
            "lab",
            ["--repetitions", str(repetitions), "--warm-up", "1", "--iterations", "1", "--switch", switch],
        ),
    ):
        out = folder / f"{one.name}-{place}.zarr"
        command = ["run", "aapc", "--on", f"{place}:{file}", *words, *more, "--out", str(out)]
        crosscut(command, LIMIT_SECONDS)
        runs[place] = Run.open(out)
    peers = runs["sim"].message_rates(0).coords
    sources = np.asarray(peers["peer"].values[:, :, 0], np.int64)
    simulated, emulated = _rates(runs["sim"])[0], _rates(runs["lab"])
    phases = np.asarray(peers["phase"].values, np.int64)
    # A late receiver finds its message in the kernel already: its time says nothing.
    limited = limited_phases(runs["lab"].attributes, runs["lab"].sizes_bytes[0])
    kept = ~np.isin(phases, list(limited))
    if not kept.any():
        raise BenchmarkError(f"{one.name}: this machine's CPU was the bottleneck in every phase")
    of = capacities(file, sources)
    return classes(phases[kept], sources[kept], simulated[kept], emulated[:, kept], of)


def capacities(file: Path, sources: Integers) -> Capacities:
    """Returns the capacities along each route from sources[phase, rank] to rank; one rank per host."""
    hosts = [vertex.name for vertex in _graph(file).vertices]
    found = {}
    for source, to in {(int(source), to) for row in sources for to, source in enumerate(row) if source >= 0}:
        way = json.loads(description.ask("routes", str(file), hosts[source], hosts[to], "--json").stdout)
        found[source, to] = [
            (one["name"], float(one["payload_bytes_per_second"] or np.inf)) for one in way["capacities"]
        ]
    return found


def _graph(file: Path) -> description.Graph:
    graph = description.load(str(file), graph=True).graph
    assert graph is not None  # asked for
    return graph


def _rates(run: Run) -> Floats:
    """[repetition, phase, receiver]"""
    found = run.message_rates(0).transpose("repetition", "phase", "rank", "slot").values
    return np.asarray(found[..., 0], np.float64)


HEAD = (
    "network", "uncontended", "worst median", "worst slowest",
    "fairly shared", "worst carried", "worst median", "worst slowest", "the rest", "worst slowest",
)  # fmt: skip


def row(name: str, found: list[Class]) -> tuple[str, ...]:
    cells = [name]
    for kind in ("uncontended", "shared", "open"):
        there = [c for c in found if c.kind == kind]
        cells.append(str(len(there)))
        if kind == "shared":
            cells.append(_worst([c.known() for c in there]))
        if kind != "open":
            cells.append(_worst([c.of_median() for c in there]))
        cells.append(_worst([c.of_slowest() for c in there]))
    return tuple(cells)


def _worst(errors: list[float]) -> str:
    return f"{100 * max(errors, key=abs):+.1f} %" if errors else ""


def summary(everything: list[Class]) -> str:
    alike = [c for c in everything if c.kind != "open"]
    return "\n".join(
        [
            f"Of {len(alike)} classes of uncontended and fairly shared routes",
            f"- by what full links carried: {_told([c.known() for c in alike])}",
            f"- by the median route: {_told([c.of_median() for c in alike])}",
        ]
    )


def _told(errors: list[float]) -> str:
    sizes = np.abs(errors)
    return (
        f"{np.sum(sizes <= AIM)} within {AIM:.0%} of the simulator, {100 * np.mean(sizes):.1f} % off on "
        f"average, {100 * np.max(sizes):.1f} % at worst"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.agreement", description="Compares labs with the simulator."
    )
    parser.add_argument("--networks", type=int, default=10, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the first network")
    parser.add_argument("--size", default="8MB")
    parser.add_argument("--repetitions", type=int, default=5, metavar="R")
    parser.add_argument(
        "--switch",
        default="kernel",
        help="switch of the labs; with kernel,queues=fair TCP shares as the model does",
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep network files and runs there")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write all figures as JSON")
    options = parser.parse_args(arguments)
    if os.geteuid() != 0:
        print("not root: labs run in user namespaces, if the kernel permits them", flush=True)
    exit_when_terminated()
    machine = describe()
    print(sentence(machine), flush=True)
    networks = [random_network(seed) for seed in range(options.seed, options.seed + options.networks)]
    everything: dict[str, list[Class]] = {}
    try:
        with preferred(), tempfile.TemporaryDirectory(prefix="crosscut-agreement-") as scratch:
            folder = options.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            for one in networks:
                everything[one.name] = compare(one, folder, options.size, options.repetitions, options.switch)
                print(f"{one.name}: {len(everything[one.name])} classes of routes", flush=True)
    except (BenchmarkError, CrosscutError) as error:
        print(f"agreement: {error}", file=sys.stderr)
        return 1
    print_table(HEAD, [row(name, found) for name, found in everything.items()])
    print(summary([c for found in everything.values() for c in found]))
    figures = {name: [asdict(c) for c in found] for name, found in everything.items()}
    write_json(
        options.out, {"machine": machine, "size": options.size, "switch": options.switch, "networks": figures}
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
