"""`python -m benchmarks.health_nights`: whom `crosscut health night` drains in emulated clusters with Slurm.

Without a fault nobody may be drained. With three troubles, a bad cable's node must be drained, and one
whose link goes down now and then after the second search that saw it; the neighbour that another job keeps
busy must not, nor may nodes that are idle to Slurm and yet send to each other. Every case begins with a
copy of the same nights without a fault, from which nodes' own history comes. A night is several searches;
after it, the ledger becomes a day older. The faults are there for all nights but the last ones, in which
nodes may be resumed. Needs root and Slurm. FOLDER keeps every search: a second call goes on where the first
stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.conditions import describe, preferred, print_table, sentence
from benchmarks.processes import BenchmarkError, exit_when_terminated
from crosscut.health.decide import PREFIX
from crosscut.health.judge import FEWEST_EARLIER
from crosscut.lab import enter, lifecycle, state
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.lab.plan.management import LOGIN
from crosscut.lab.slurm import daemons

HOSTS = 16
LIMIT_SECONDS = 1200
LEARNING = 1
"""Nights before the fault; the last one ends when a node's own history is known."""
CLEARING = 1
"""Nights after the fault: three sound searches clear a node."""
_DAY = timedelta(days=1)
# Sends TCP from one node to the other until it is ended: as fast as it goes, or so many bytes per second.
_STREAM = """
import os, socket, sys, time
receiver, pace = sys.argv[1], float(sys.argv[2])
if os.environ.get("SLURM_PROCID", sys.argv[-1]) == "0":
    with socket.create_server(("", 5999)) as door, door.accept()[0] as other:
        while other.recv(1 << 16): pass
else:
    for _ in range(100):
        try: other = socket.create_connection((receiver, 5999), 5); break
        except OSError: time.sleep(0.1)
    with other:
        other.settimeout(None)
        while True:
            other.sendall(bytes(1 << 13))
            if pace: time.sleep((1 << 13) / pace)
"""


@dataclass(frozen=True)
class Stream:
    source: str
    destination: str
    pace: int = 0
    """Bytes per second; 0: as fast as it goes."""

    def words(self, *role: str) -> list[str]:
        return [sys.executable, "-c", _STREAM, self.destination, str(self.pace), *role]


@dataclass(frozen=True)
class NightsCase:
    name: str
    faults: tuple[Fault, ...] = ()
    job: Stream | None = None
    """A job of Slurm that sends all the time."""
    strangers: tuple[Stream, ...] = ()
    """Streams between nodes that are idle to Slurm."""

    def must(self) -> dict[str, str]:
        """The nodes that must be drained, with what the reason must contain."""
        return {fault.nodes[0]: REASONS[fault.kind] for fault in self.faults}


# They take half and a seventh of their nodes' links.
STRANGERS = (Stream("n0009", "n0005", 300_000), Stream("n0010", "n0002", 90_000))
REASONS = {"slow": "own history", "flap": "carrier_changes"}
CASES = (
    NightsCase("no fault"),
    NightsCase(
        "three troubles",
        (Fault("slow", ("n0001",), share=0.7), Fault("flap", ("n0006",), seconds=0.05, every=40.0)),
        job=Stream("n0008", "n0004"),
    ),
    NightsCase("streams that Slurm does not know", strangers=STRANGERS),
)
AT_MOST = 2


@dataclass(frozen=True)
class Searched:
    night: int
    """From 0; the first of them are without a fault."""
    measured: bool
    """The machine was no bottleneck of every phase."""
    at_fault: Mapping[str, str]
    """What this search found, by node."""
    decisions: Mapping[str, str]
    drained: Mapping[str, str]
    """Reason by node, afterwards."""
    told: Sequence[str] = ()


@dataclass
class Kept:
    """One case's folder: the history, the ledger, and a line for each night."""

    folder: Path
    searches: list[Searched] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.file.exists():
            text = self.file.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1].splitlines()
            self.searches = [Searched(**json.loads(line)) for line in whole]

    @property
    def file(self) -> Path:
        return self.folder / "searches.jsonl"

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.jsonl"

    @property
    def drained(self) -> Mapping[str, str]:
        return self.searches[-1].drained if self.searches else {}

    def of_night(self, night: int) -> list[Searched]:
        return [one for one in self.searches if one.night == night]

    def add(self, one: Searched) -> None:
        self.searches.append(one)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(one)) + "\n")

    def age(self) -> None:
        """Makes the ledger a day older."""
        lines = [json.loads(line) for line in self.ledger.read_text(encoding="utf-8").splitlines()]
        older = [line | {"time": _older(line["time"])} for line in lines]
        self.ledger.write_text("".join(json.dumps(line) + "\n" for line in older), encoding="utf-8")


def _older(time: str) -> str:
    return (datetime.fromisoformat(time) - _DAY).strftime("%Y-%m-%dT%H:%M:%SZ")


def network() -> str:
    """Two leaves of eight hosts, whose uplinks carry half of what their hosts can send."""
    half = HOSTS // 2
    lines = [f'[[hosts]]\nnames = "n[0000-{HOSTS - 1:04}]"', '[[switches]]\nnames = "root"\nlevel = 1']
    for leaf in range(2):
        first = leaf * half
        lines.append(f'[[switches]]\nnames = "leaf{leaf}"')
        lines.append(
            f'[[links]]\nbetween = ["n[{first:04}-{first + half - 1:04}]", "leaf{leaf}"]\nrate = "5 Mbit/s"'
        )
        lines.append(f'[[links]]\nbetween = ["leaf{leaf}", "root"]\nrate = "{2.5 * half:g} Mbit/s"')
    return "\n".join([*lines, "[protocol]\nmtu = 1500\nheaders = 52\nframing = 38\n"])


@dataclass(frozen=True)
class Cluster:
    record: state.Record
    size: str

    def entering(self, node: str, words: Sequence[str]) -> list[str]:
        return enter.command(self.record, state.folder(self.record.name), node, words)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                self.entering(LOGIN, words), capture_output=True, text=True, check=False,
                env=daemons.environment(state.folder(self.record.name)), timeout=LIMIT_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise BenchmarkError(f"{words[0]} did not end within {LIMIT_SECONDS} s") from error

    def drained(self) -> dict[str, str]:
        lines = self.run("sinfo", "-h", "-N", "-o", "%N|%T|%E").stdout.splitlines()
        states = [line.split("|", 2) for line in lines]
        return {name: why for name, word, why in states if word == "drained" and why.startswith(PREFIX)}

    def as_in(self, drained: Mapping[str, str]) -> None:
        """Drains these nodes and no others, as after the last night."""
        for node in self.drained().keys() - drained.keys():
            self.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
        for node, why in drained.items():
            self.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", f"Reason={why}")

    def search(self, kept: Kept, night: int) -> Searched:
        words = ["health", "night", "--ledger", str(kept.ledger), "--json", f"--at-most={AT_MOST}"]
        done = self.run(sys.executable, "-m", "crosscut", *words, "--size", self.size)
        if done.returncode != 0:
            raise BenchmarkError(f"crosscut health: {done.stderr.strip()[-600:]}")
        said: dict[str, Any] = json.loads(done.stdout)
        search = said["search"] or {"reached": {}, "faults": []}
        decisions = {one["node"]: one["decision"] for one in said["decisions"]}
        told = [*said["notes"], said["not_measured"], *(one["says"] for one in said["decisions"])]
        at_fault = {one["node"]: one["says"] for one in search["faults"]}
        one = Searched(
            night,
            bool(search["reached"]),
            at_fault,
            decisions,
            self.drained(),
            [line for line in told if line],
        )
        kept.add(one)
        return one


@contextlib.contextmanager
def _beside(cluster: Cluster, case: NightsCase) -> Iterator[None]:
    """The case's faults, its job, and its strangers."""
    streams = [
        subprocess.Popen(cluster.entering(node, each.words(role)), stderr=subprocess.DEVNULL)
        for each in case.strangers
        for node, role in ((each.destination, "0"), (each.source, "1"))
    ]
    try:
        for fault in case.faults:
            plant.plant(cluster.record.name, fault)
        if case.job is not None:
            nodes = f"--nodelist={case.job.destination},{case.job.source}"
            step = shlex.join(["srun", "--nodes=2", "--ntasks=2", *case.job.words()])
            cluster.run("sbatch", "--exclusive", nodes, "--nodes=2", "--output=/dev/null", "--wrap", step)
        yield
    finally:
        plant.lift(cluster.record.name, "all")
        cluster.run("scancel", "--me")
        for stream in streams:
            stream.kill()
            stream.wait()


@dataclass(frozen=True)
class Plan:
    nights: int
    """With the faults."""
    searches: int

    def night(self, cluster: Cluster, kept: Kept, night: int, name: str) -> None:
        while self.wanted(kept, night):
            one = cluster.search(kept, night)
            found = ", ".join(f"{node} {word}" for node, word in one.decisions.items()) or "nothing"
            print(f"{name}, night {night}: {found}{'' if one.measured else ' (no conclusion)'}", flush=True)
        kept.age()

    def wanted(self, kept: Kept, night: int) -> bool:
        """Another search is wanted in this night."""
        known = sum(one.measured for one in kept.searches) >= FEWEST_EARLIER
        return len(kept.of_night(night)) < self.searches or (night == LEARNING - 1 and not known)

    def run(self, cluster: Cluster, case: NightsCase, kept: Kept) -> None:
        """Runs the nights that are missing: with the faults, then without."""
        cluster.as_in(kept.drained)
        for night in range(LEARNING, LEARNING + self.nights + CLEARING):
            if self.wanted(kept, night):
                sick = night < LEARNING + self.nights
                with _beside(cluster, case) if sick else contextlib.nullcontext():
                    self.night(cluster, kept, night, case.name)

    def row(self, case: NightsCase, kept: Kept) -> tuple[str, ...]:
        """What became of a case."""
        later = [one for one in kept.searches if one.night >= LEARNING]
        said = [self._became(node, words, later) for node, words in case.must().items()]
        others = {node for one in later for node in one.drained} - case.must().keys()
        accused = {(at, node) for at, one in enumerate(later) for node in one.at_fault} - {
            (at, node) for at in range(len(later)) for node in case.must()
        }
        return (
            case.name, str(len(later)), str(sum(not one.measured for one in later)),
            "; ".join(said) or "–", str(len(accused)), ", ".join(sorted(others)) or "none",
        )  # fmt: skip

    def _became(self, node: str, words: str, later: Sequence[Searched]) -> str:
        drained = next((at for at, one in enumerate(later) if node in one.drained), None)
        if drained is None:
            return f"{node}: never drained"
        seen = sum(node in one.at_fault for one in later[: drained + 1])
        why = "" if words in later[drained].drained[node] else f" for another reason than {words!r}"
        back = next((at for at, one in enumerate(later) if at > drained and node not in one.drained), None)
        resumed = "not resumed"
        if back is not None:
            lifted = LEARNING + self.nights
            fault = "the fault" if later[back].night < lifted else "it was mended"
            resumed = f"resumed {'during' if later[back].night < lifted else 'after'} {fault}"
        night = later[drained].night - LEARNING + 1
        return f"{node}: night {night}, in the {seen}. search that found it{why}; {resumed}"


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.health_nights", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="keeps every search")
    parser.add_argument("--nights", type=int, default=20, help="nights, with the case's faults (20)")
    parser.add_argument("--searches", type=int, default=6, help="searches in a night (6)")
    parser.add_argument("--size", default="25kB", help="size of the messages (25kB)")
    parser.add_argument("--only", nargs="*", metavar="CASE", help="cases, by name")
    args = parser.parse_args(words)
    exit_when_terminated()
    if why := daemons.unavailable():
        print(f"benchmarks.health_nights: {why}", file=sys.stderr)
        return 1
    print(sentence(describe()), flush=True)
    plan = Plan(args.nights, args.searches)
    cases = [one for one in CASES if not args.only or one.name in args.only]
    done = {case.name: Kept(args.folder / case.name.replace(" ", "-")) for case in cases}
    file = args.folder / "network.toml"
    file.write_text(network(), encoding="utf-8")
    choices = lifecycle.Choices(name=f"nights-{os.getpid()}", slurm=True, owner=state.this_process())
    record = lifecycle.up(str(file), choices)
    try:
        with preferred():
            cluster = Cluster(record, args.size)
            learned = Kept(args.folder / "learned")
            if plan.wanted(learned, 0):
                plan.night(cluster, learned, 0, "learning")
            for case in cases:
                if not done[case.name].searches:
                    shutil.copytree(learned.folder, done[case.name].folder, dirs_exist_ok=True)
                    done[case.name] = Kept(done[case.name].folder)
                plan.run(cluster, case, done[case.name])
    except BenchmarkError as error:
        print(f"benchmarks.health_nights: {error}", file=sys.stderr)
        return 1
    finally:
        lifecycle.taking_down(record)()
        heads = ("case", "searches", "no conclusion", "drained", "others called at fault", "others drained")
        print_table(heads, [plan.row(case, done[case.name]) for case in cases])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
