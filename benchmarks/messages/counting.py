"""Runs a workload under `crosscut profile` and reads the counts, which depend only on class and ranks."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import BenchmarkError
from crosscut.places.base import cores
from crosscut.places.launchers import environment_for
from crosscut.profile import program as profile
from crosscut.workloads import applications

LIMIT_SECONDS = 4 * 3600
BESIDE = Path(sys.executable).parent / "mpiexec"


@dataclass(frozen=True)
class Sizes:
    """By decade of the message size: 0 B, 1 to 9 B, 10 to 99 B, and so on."""

    messages: tuple[int, ...]
    bytes: tuple[int, ...]

    def __add__(self, other: Sizes) -> Sizes:
        return Sizes(
            tuple(map(sum, zip(self.messages, other.messages, strict=True))),
            tuple(map(sum, zip(self.bytes, other.bytes, strict=True))),
        )


@dataclass(frozen=True)
class Counted:
    name: str
    problem_class: str
    ranks: int
    point: Sizes
    collective: Sizes
    """The messages that MPICH 1.2 makes of collective calls, including those of a rank to itself."""
    collective_calls: dict[str, int]
    """Calls of all ranks, by function."""
    busiest_sent_bytes: int
    """Bytes that the busiest rank sends to others."""

    @property
    def all(self) -> Sizes:
        return self.point + self.collective


def count(workload: applications.Workload, problem_class: str, ranks: int, folder: Path) -> Counted:
    """Runs the workload, unless `folder` already has its profile."""
    where = folder / f"{workload.name}.profile"
    if not where.exists():
        _run(workload, problem_class, ranks, where)
    return _read(workload.name, problem_class, where, ranks)


def _run(workload: applications.Workload, problem_class: str, ranks: int, where: Path) -> None:
    if not BESIDE.exists():
        raise BenchmarkError(f"there is no {BESIDE}: pip install 'mpich>=5'")
    program = [str(applications.find_executable(workload)), "--class", problem_class, "--json"]
    words = [sys.executable, "-m", "crosscut", "profile", "--section", "--json", "--out", str(where), "--"]
    done = subprocess.run(
        [*words, str(BESIDE), "-n", str(ranks), *program],
        env=environment_for(ranks > cores(), os.environ),
        capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    # With --json crosscut prints the profile, and the program's own output goes to standard error.
    if done.returncode != 0 or '"verified":true' not in done.stderr.replace(" ", ""):
        raise BenchmarkError(
            f"{workload.name}, class {problem_class}, {ranks} ranks: {done.stderr.strip()[-400:]}"
        )


def _read(name: str, problem_class: str, where: Path, ranks: int) -> Counted:
    found = profile.load(where)
    if not found.complete or found.ranks != ranks:
        raise BenchmarkError(f"{where} is not a complete profile of {ranks} ranks")
    matrix = found.matrix()[:, :, 1].astype(float)
    sent = matrix.sum(axis=1) - matrix.diagonal()
    return Counted(
        name=name,
        problem_class=problem_class,
        ranks=found.ranks,
        point=_sizes(found, "point"),
        collective=_sizes(found, "collective"),
        collective_calls={
            call.name: int(call.as_called[:, 0].sum())
            for call in sorted(found.calls, key=lambda call: call.name)
            if call.kind == "collective"
        },
        busiest_sent_bytes=int(sent.max()),
    )


def _sizes(found: profile.Profile, way: str) -> Sizes:
    amounts = found.sizes(way)
    return Sizes(*(tuple(int(value) for value in amounts[:, column]) for column in (0, 1)))


def save(file: Path, counted: list[Counted]) -> None:
    """Writes one line per workload, for readable diffs."""
    lines = ",\n".join(json.dumps(dataclasses.asdict(one)) for one in counted)
    file.write_text(f"[\n{lines}\n]\n", encoding="ascii")


def load(file: Path) -> list[Counted]:
    return [_counted(one) for one in json.loads(file.read_text(encoding="ascii"))]


def _counted(value: dict[str, Any]) -> Counted:
    sizes = {
        way: Sizes(*(tuple(value[way][what]) for what in ("messages", "bytes")))
        for way in ("point", "collective")
    }
    return Counted(**(value | sizes))
