"""`python -m benchmarks.located_labs`: what `crosscut locate` finds in small emulated clusters, over TCP.

A case is a network, its fault and the right findings. Its lab is built once and searched several times. A
search is right if it names the fault and raises no other alarm; without a fault, if it raises none. One that
reaches no conclusion about the network counts as wrong, unless a setting of the hosts is the fault. FILE
(--out) keeps every search: a second call resumes where the first stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.conditions import describe, preferred, print_table, sentence
from benchmarks.processes import BenchmarkError, crosscut, exit_when_terminated
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding, from_json
from crosscut.lab import enter, lifecycle, state
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault

LIMIT_SECONDS = 900
PROTOCOL = "[protocol]\nmtu = 1500\nheaders = 40\nframing = 38\n"
# Sends TCP from one node to another for the given seconds: ROLE RECEIVER SECONDS.
_STREAM = """
import socket, sys, time
end = time.monotonic() + float(sys.argv[3])
if sys.argv[1] == "receive":
    with socket.create_server(("", 5999)) as door:
        door.settimeout(30)
        with door.accept()[0] as other:
            while time.monotonic() < end and other.recv(1 << 16): pass
else:
    for _ in range(100):
        try:
            other = socket.create_connection((sys.argv[2], 5999), 5)
            break
        except OSError:
            time.sleep(0.1)
    with other:
        while time.monotonic() < end: other.sendall(bytes(1 << 16))
"""


@dataclass(frozen=True)
class Case:
    name: str
    network: str
    kinds: tuple[str, ...] = ()
    """Kinds of findings, one of which must be reported; () without a fault."""
    hosts: tuple[str, ...] = ()
    """Hosts that the finding must name, itself or by its groups."""
    faults: tuple[Fault, ...] = ()
    other_job: tuple[str, str] | None = None
    """Sender and receiver of traffic during the search."""
    switch: str = "kernel"


def _hosts(first: int, count: int) -> str:
    return f"n[{first:04}-{first + count - 1:04}]"


def _names(first: int, count: int) -> tuple[str, ...]:
    return tuple(f"n{number:04}" for number in range(first, first + count))


def _leaves(sizes: Sequence[int], uplinks: Sequence[int], rates: Sequence[int] = ()) -> str:
    """Leaves of the given sizes under a root; Mbit/s of uplinks, and of hosts by leaf (20 by default)."""
    lines = [f'[[hosts]]\nnames = "{_hosts(0, sum(sizes))}"', '[[switches]]\nnames = "root"\nlevel = 1']
    first = 0
    for leaf, (size, uplink) in enumerate(zip(sizes, uplinks, strict=True)):
        rate = rates[leaf] if rates else 20
        lines.append(f'[[switches]]\nnames = "leaf{leaf}"')
        lines.append(f'[[links]]\nbetween = ["{_hosts(first, size)}", "leaf{leaf}"]\nrate = "{rate} Mbit/s"')
        lines.append(f'[[links]]\nbetween = ["leaf{leaf}", "root"]\nrate = "{uplink} Mbit/s"')
        first += size
    return "\n".join([*lines, PROTOCOL])


def _two_kinds(fast: int, slow: int) -> str:
    """One switch whose hosts have two kinds of adapters."""
    lines = [f'[[hosts]]\nnames = "{_hosts(0, fast + slow)}"', '[[switches]]\nnames = "switch0"']
    for first, count, rate in ((0, fast, 20), (fast, slow, 10)):
        lines.append(f'[[links]]\nbetween = ["{_hosts(first, count)}", "switch0"]\nrate = "{rate} Mbit/s"')
    return "\n".join([*lines, PROTOCOL])


def _hashed(bad_mbit: int = 20) -> str:
    """Four leaves of four hosts and four spines: a hash picks one of a leaf's four uplinks."""
    lines = ['[[hosts]]\nnames = "n[0000-0015]"', '[[switches]]\nnames = "leaf[0-3]"']
    lines += ['[[switches]]\nnames = "spine[0-3]"\nlevel = 1']
    for leaf in range(4):
        lines.append(f'[[links]]\nbetween = ["{_hosts(4 * leaf, 4)}", "leaf{leaf}"]\nrate = "20 Mbit/s"')
        for spine in range(4):
            rate = bad_mbit if (leaf, spine) == (1, 2) else 20
            lines.append(f'[[links]]\nbetween = ["leaf{leaf}", "spine{spine}"]\nrate = "{rate} Mbit/s"')
    return "\n".join([*lines, PROTOCOL, '[routing]\nspread = "ecmp"'])


def _mesh(hosts: int, slow: tuple[int, int]) -> str:
    """A switch for each host, and a cable between any two switches; one of them is slow."""
    lines = [f'[[hosts]]\nnames = "{_hosts(0, hosts)}"\n[[switches]]\nnames = "switch[0-{hosts - 1}]"']
    for one in range(hosts):
        lines.append(f'[[links]]\nbetween = ["n{one:04}", "switch{one}"]\nrate = "40 Mbit/s"')
        for other in range(one + 1, hosts):
            rate = 8 if (one, other) == slow else 20
            lines.append(f'[[links]]\nbetween = ["switch{one}", "switch{other}"]\nrate = "{rate} Mbit/s"')
    return "\n".join([*lines, PROTOCOL])


def _generated(kind: str, *values: str) -> str:
    return "\n".join(["[generator]", f'kind = "{kind}"', *values, PROTOCOL])


CROSSBAR = _generated("crossbar", "hosts = 12", 'rate = "50 Mbit/s"')
E7 = _generated(
    "module-chassis", "modules = 3", "asics_per_module = 1", "hosts_per_asic = 6", 'rate = "20 Mbit/s"',
    'module_rate = "60 Mbit/s"',
)  # fmt: skip
CASES = (
    Case("E7", E7),
    Case("unequal leaves", _leaves((4, 8, 12), (40, 80, 120))),
    Case("two kinds of adapters", _two_kinds(13, 7)),
    Case("hashed uplinks", _hashed(), switch="user"),
    Case(
        "dragonfly",
        _generated("dragonfly", "p = 2", "a = 2", "h = 1", "groups = 3", 'rate = "20 Mbit/s"'),
    ),
    Case("one uplink of four at 25 %", _hashed(5), ("slow cable",), _names(4, 4), switch="user"),
    Case("a slow host", CROSSBAR, ("slow host",), ("n0005",), (Fault("slow", ("n0005",), share=0.5),)),
    Case("a slow route", _mesh(8, (2, 5)), ("slow route",), ("n0002", "n0005")),
    Case(
        "a lossy host", CROSSBAR, ("lossy host",), ("n0005",),
        (Fault("loss", ("n0005",), seconds=0.02, every=0.2),),
    ),
    Case(
        "a wrong MTU", CROSSBAR, ("different settings", "slow host"), ("n0005",),
        (Fault("mtu", ("n0005",), bytes=576),),
    ),
    Case(
        "a squeezed trunk", _leaves((6, 6, 6), (80, 80, 40)), ("slow trunk",), _names(12, 6),
    ),
    Case(
        "a squeezed trunk, unequal leaves", _leaves((4, 8, 14), (40, 80, 70)), ("slow trunk",),
        _names(12, 14),
    ),
    Case(
        "another job on an uplink", _leaves((6, 6, 6), (80, 80, 80)), ("other traffic",),
        ("n0000", "n0006"), other_job=("n0000", "n0006"),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Search:
    case: str
    seed: int
    right: bool
    alarms: list[str]
    told: list[str]
    seconds: float


@dataclass
class Kept:
    """Searches, kept in a file with one line each."""

    path: Path | None
    searches: list[Search] = field(default_factory=list)

    def load(self) -> None:
        if self.path is not None and self.path.exists():
            text = self.path.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1]  # a kill may have cut the last line short
            self.searches += [Search(**json.loads(line)) for line in whole.splitlines()]
            if whole != text:
                self.path.write_text(whole, encoding="utf-8")

    def add(self, search: Search) -> None:
        self.searches.append(search)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(search)) + "\n")

    def of(self, case: Case) -> list[Search]:
        return [one for one in self.searches if one.case == case.name]


def judge(case: Case, document: object) -> tuple[bool, list[str], list[str]]:
    """Returns whether the findings are right, the alarms, and all findings."""
    findings, structure = from_json(document)

    def named(finding: Finding) -> set[str]:
        if finding.hosts or structure is None:
            return set(finding.hosts)
        groups = [structure.group(name) for name in finding.groups]
        return {structure.hosts[rank] for group in groups if group is not None for rank in group.ranks}

    def is_it(finding: Finding) -> bool:
        return finding.kind.value in case.kinds and named(finding) == set(case.hosts)

    alarms = [finding for finding in findings if finding.kind.fault]
    named_kinds = {finding.kind for finding in filter(is_it, findings)}
    concludes = all(finding.kind is not FindingKind.INCONCLUSIVE for finding in findings)
    right = all(map(is_it, alarms)) and (bool(named_kinds) or not case.kinds)
    right &= concludes or FindingKind.SETTINGS in named_kinds
    told = [f"{finding.kind.value}: {finding.what}" for finding in findings]
    return right, [finding.what for finding in alarms], told


@contextlib.contextmanager
def _traffic(record: state.Record, pair: tuple[str, str] | None) -> Iterator[None]:
    """Runs the other job; it ends by itself after LIMIT_SECONDS."""
    if pair is None:
        yield
        return
    sender, receiver = pair
    running = []
    for role, node in (("receive", receiver), ("send", sender)):
        words = [sys.executable, "-c", _STREAM, role, receiver, str(LIMIT_SECONDS)]
        command = enter.command(record, state.folder(record.name), node, words)
        running.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
    try:
        yield
    finally:
        for process in running:
            process.terminate()
            process.wait()


def search(case: Case, seeds: Sequence[int], kept: Kept, folder: Path, runs: Path) -> None:
    """Searches the case's lab once for each seed; the runs of searches that are wrong stay below `runs`."""
    runs.mkdir(parents=True, exist_ok=True)
    file = folder / "network.toml"
    file.write_text(case.network + "\n", encoding="utf-8")
    record = lifecycle.up(str(file), lifecycle.for_one_run(str(file), case.switch))
    try:
        for fault in case.faults:
            plant.plant(record.name, fault)
        for seed in seeds:
            with _traffic(record, case.other_job):
                words = ["locate", "--on", f"lab:{record.name}", "--seed", str(seed), "--size", "400KB"]
                measured = runs / f"{case.name.replace(' ', '-')}-{seed}"
                began = time.monotonic()
                shutil.rmtree(measured, ignore_errors=True)  # of a search that did not end
                found = crosscut([*words, "--json", "--quiet", "--keep", str(measured)], LIMIT_SECONDS)
            right, alarms, told = judge(case, json.loads(found))
            if right:
                shutil.rmtree(measured)
            seconds = time.monotonic() - began
            kept.add(Search(case.name, seed, right, alarms, told, seconds))
            print(f"{case.name}, seed {seed}: {'right' if right else 'WRONG'}", flush=True)
    finally:
        lifecycle.taking_down(record)()


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.located_labs", description=__doc__)
    parser.add_argument("--searches", type=int, default=10, help="searches per case (10)")
    parser.add_argument("--only", nargs="*", metavar="CASE", help="cases, by name or a part of it")
    parser.add_argument("--first-seed", type=int, default=1000, help="seed of the first search (1000)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep every search, one line of JSON each")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the runs of searches that are wrong")
    args = parser.parse_args(words)
    exit_when_terminated()
    print(sentence(describe()), flush=True)
    kept = Kept(args.out)
    kept.load()
    cases = [one for one in CASES if _chosen(one.name, args.only)]
    seeds = range(args.first_seed, args.first_seed + args.searches)
    try:
        with tempfile.TemporaryDirectory() as folder, preferred():
            for case in cases:
                done = {one.seed for one in kept.of(case)}
                if missing := [seed for seed in seeds if seed not in done]:
                    search(case, missing, kept, Path(folder), args.keep or Path(folder))
    except BenchmarkError as error:
        print(f"benchmarks.located_labs: {error}", file=sys.stderr)
        return 1
    finally:
        print_table(
            ("lab", "searches", "right", "with an alarm", "seconds"), [_row(case, kept) for case in cases]
        )
    return 0


def _chosen(name: str, parts: Sequence[str] | None) -> bool:
    """Returns whether --only names a case, wholly or in part; a whole name chooses no other."""
    whole = {case.name for case in CASES}
    return not parts or any(part == name if part in whole else part in name for part in parts)


def _row(case: Case, kept: Kept) -> tuple[str, ...]:
    searches = kept.of(case)
    right, alarmed = sum(one.right for one in searches), sum(bool(one.alarms) for one in searches)
    seconds = f"{median(one.seconds for one in searches):.0f}" if searches else ""
    return case.name, str(len(searches)), str(right), str(alarmed), seconds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
