"""`python -m benchmarks.e7_located`: the E7, ranks numbered at random, simulated and emulated.

For each cluster (clusters.py) a network file with the hosts in random order is written. `crosscut locate`
searches that network; then an all-to-all is measured, and `crosscut explain` tells from the inferred network
which limit is full in which phase. Labs are slowed down (--dilate) so that this machine can carry them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.conditions import describe, preferred, print_table, sentence, write_json
from benchmarks.e7_located.clusters import CLUSTERS, Cluster, shuffled
from benchmarks.e7_located.scoring import Explained, Score, explained, score
from benchmarks.processes import BenchmarkError, crosscut, exit_when_terminated
from crosscut.analysis.findings.model import from_json
from crosscut.base.errors import CrosscutError
from crosscut.lab import lifecycle
from crosscut.run.run import Run

# A full frame carries 1448 bytes of payload in 1538 on the wire, with TCP time stamps (IEEE 802.3, RFC 7323).
# In simulations everything is payload, since the network file names no protocol.
LAB_PAYLOAD_SHARE = 1448 / 1538
LIMIT_SECONDS = 3600


@dataclass(frozen=True)
class How:
    dilation: float
    size: str
    repetitions: int
    phases: str
    """Phases of the lab's all-to-all, for `--phases`."""
    switch: str
    seed: int


@dataclass(frozen=True)
class Outcome:
    cluster: Cluster
    place: str
    modules: int
    score: Score
    explained: Explained
    phases: int
    """Number of phases that the search measured, one-byte messages included."""
    seconds: float
    """Duration of the search."""


def measure(cluster: Cluster, place: str, how: How, folder: Path) -> Outcome:
    stem = f"{cluster.name}-{place}"
    file, inferred, run = (folder / f"{stem}.toml", folder / f"{stem}-found.toml", folder / f"{stem}.zarr")
    shutil.rmtree(run, ignore_errors=True)  # kept (--keep) by an earlier call
    truth = shuffled(cluster, file, how.seed)
    lab_only = ["--repetitions", str(how.repetitions)] if place == "lab" else []
    with _site(file, place, how) as on:
        longer = ["--least-phases", str(cluster.least_phases)] if cluster.least_phases else []
        began = time.monotonic()
        words = ["locate", "--on", on, "--size", how.size, *lab_only, *longer, "--json", "--quiet"]
        said = crosscut([*words, "-o", str(inferred)], LIMIT_SECONDS)
        seconds = time.monotonic() - began
        once = ["--warm-up", "1", "--iterations", "1", "--phases", how.phases] if place == "lab" else []
        words = ["run", "aapc", "--on", on, "--size", how.size, *lab_only, *once, "--quiet"]
        crosscut([*words, "--out", str(run)], LIMIT_SECONDS)
    _, structure = from_json(json.loads(said))
    if structure is None:
        raise BenchmarkError(f"{stem}: nothing was inferred")
    limits = crosscut(["explain", str(run), "--network", str(inferred), "--json"], LIMIT_SECONDS)
    told = json.loads(limits)["bottlenecks"]
    coordinates = Run.open(run).message_rates(0).coords
    sources = np.asarray(coordinates["peer"].values[:, :, 0], np.int64)
    phases = np.asarray(coordinates["phase"].values, np.int64)
    share = LAB_PAYLOAD_SHARE / how.dilation if place == "lab" else 1.0
    return Outcome(
        cluster, place, len(structure.groups), score(structure, truth, share),
        explained(told, structure, truth, phases, sources), structure.phases_used, seconds,
    )  # fmt: skip


@contextmanager
def _site(file: Path, place: str, how: How) -> Iterator[str]:
    """Yields the argument of `--on`. A lab is taken down afterwards."""
    if place == "sim":
        yield f"sim:{file}"
        return
    choices = replace(lifecycle.for_one_run(str(file), how.switch), dilation=how.dilation)
    record = lifecycle.up(str(file), choices)
    try:
        yield f"lab:{record.name}"
    finally:
        lifecycle.taking_down(record)()


HEAD = (
    "cluster", "where", "hosts", "modules", "Rand", "misplaced", "Rand of ASICs", "limits", "error", "worst",
    "explained", "wrongly", "phases", "of AAPC's",
)  # fmt: skip


def row(one: Outcome) -> tuple[str, ...]:
    errors, ranks = one.score.errors, len(one.cluster.hosts)
    shown = ["", ""]
    if errors:
        shown = [f"{100 * error:.1f} %" for error in (np.mean(np.abs(errors)), max(errors, key=abs))]
    asics = one.score.asics_rand
    return (
        one.cluster.about, "emulated" if one.place == "lab" else "simulated", str(ranks), str(one.modules),
        f"{one.score.rand:.3f}", str(one.score.misplaced), "" if np.isnan(asics) else f"{asics:.3f}",
        f"{len(errors)} of {one.score.limits}", *shown,
        f"{one.explained.named} of {one.explained.full}", str(one.explained.wrong), str(one.phases),
        f"{one.phases / (ranks - 1):.2f}",
    )  # fmt: skip


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks.e7_located", description="Does crosscut locate find the E7's modules and limits?"
    )
    parser.add_argument("--places", nargs="+", choices=("sim", "lab"), default=["sim", "lab"])
    parser.add_argument("--only", nargs="+", choices=[one.name for one in CLUSTERS], metavar="NAME",
                        help="clusters: " + ", ".join(one.name for one in CLUSTERS))  # fmt: skip
    parser.add_argument("--dilate", type=float, default=10.0, metavar="N",
                        help="factor by which labs are slowed down (%(default)g)")  # fmt: skip
    parser.add_argument("--size", default="1MB", help="bytes of a message (%(default)s)")
    parser.add_argument("--repetitions", type=int, default=3, metavar="R", help="in labs (%(default)s)")
    parser.add_argument("--phases", default="1-8", help="phases of the labs' all-to-all (%(default)s)")
    parser.add_argument("--switch", default="kernel", help="switch of the labs (%(default)s)")
    parser.add_argument("--seed", type=int, default=3, help="seed of the order of hosts (%(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep network files and runs there")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write all figures as JSON")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    options = _options(words)
    how = How(options.dilate, options.size, options.repetitions, options.phases, options.switch, options.seed)
    exit_when_terminated()
    machine = describe()
    print(sentence(machine), flush=True)
    wanted = [one for one in CLUSTERS if options.only is None or one.name in options.only]
    found: list[Outcome] = []
    try:
        with preferred(), tempfile.TemporaryDirectory(prefix="crosscut-e7-") as scratch:
            folder = options.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            for place in options.places:
                for cluster in wanted:
                    if place == "sim" or cluster.emulated:
                        found.append(measure(cluster, place, how, folder))
                        print(f"{cluster.name} on {place}: {found[-1].seconds:.0f} s", flush=True)
    except (BenchmarkError, CrosscutError) as error:
        print(f"e7_located: {error}", file=sys.stderr)
        return 1
    finally:
        print_table(HEAD, [row(one) for one in found])
    write_json(options.out, {"machine": machine, **asdict(how), "found": [asdict(one) for one in found]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
