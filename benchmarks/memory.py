"""`python -m benchmarks.memory`: bytes per rank against the number of ranks, on `null`.

Polls /proc/PID/smaps_rollup of the ranks while the job runs and keeps each rank's largest private bytes
(freed when it ends) and proportional share (PSS, in which shared pages count in parts). Rank 0 is listed
apart, since it also conducts the job and writes the run.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.conditions import describe, print_table, sentence, write_json
from benchmarks.measuring import Session, core
from benchmarks.processes import BenchmarkError, end

RANKS = (2, 64, 512, 4096)
SAMPLE_BYTES = 1000
# Blocks reuse memory, so part of the job is enough: all of it would take two minutes with 4,096 ranks.
MEASURING_SECONDS = 20.0
LIMIT_SECONDS = 240.0
WATCHED = 32
"""Ranks polled besides rank 0: polling 4,096 processes takes longer than the job."""


@dataclass(frozen=True)
class Usage:
    ranks: int
    rank_0_private_bytes: int
    rank_0_pss_bytes: int
    others_private_bytes: int
    """The median of the ranks polled."""
    others_pss_bytes: int
    run_bytes: int
    seconds: float


def private_and_pss(pid: int) -> tuple[int, int]:
    """Returns (0, 0) for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.endswith(" kB")}
    return found.get("Private_Clean", 0) + found.get("Private_Dirty", 0), found.get("Pss", 0)


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def spread(pids: Sequence[int], count: int) -> list[int]:
    """Returns the first, rank 0 (the node forks it first), and `count` others spread over the ranks."""
    step = max(1, len(pids) // count)
    return sorted({pids[0], *pids[1::step]})


def watch(process: subprocess.Popen[bytes], ranks: int, limit_seconds: float) -> dict[int, tuple[int, int]]:
    """Polls ranks until the job ends. Returns the largest private bytes and PSS of each, by process id."""
    largest: dict[int, tuple[int, int]] = {}
    watched: list[int] = []
    deadline = time.monotonic() + limit_seconds
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise BenchmarkError(f"{ranks} ranks did not end within {limit_seconds:.0f} s")
        if not watched and len(pids := sorted(children(process.pid))) == ranks:
            watched = spread(pids, WATCHED)
        for pid in watched:
            now, before = private_and_pss(pid), largest.get(pid, (0, 0))
            largest[pid] = (max(now[0], before[0]), max(now[1], before[1]))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    return largest


def measure(ranks: int, pattern: str, limit_seconds: float = LIMIT_SECONDS) -> Usage:
    with tempfile.TemporaryDirectory(prefix="crosscut-memory-") as folder:
        out = Path(folder) / "run.zarr"
        session = Session((core(), "node"), ranks, "null", pin=False, timeout_seconds=120)
        job = {
            "pattern": pattern,
            "backend": "null",
            "sizes": [SAMPLE_BYTES],
            "repetitions": 1,
            "time_limit_seconds": MEASURING_SECONDS,
            "out": str(out),
        }
        began = time.monotonic()
        with (Path(folder) / "errors.txt").open("w+b") as errors:
            process = subprocess.Popen(
                session.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors
            )
            try:
                assert process.stdin is not None
                process.stdin.write(session.requests(job).encode())
                process.stdin.flush()
                largest = watch(process, ranks, limit_seconds)
            finally:
                end(process)
            errors.seek(0)
            if process.returncode != 0 or len(largest) < 2:
                said = errors.read().decode("utf-8", "replace").strip()[-400:]
                raise BenchmarkError(f"{ranks} ranks ended with status {process.returncode}: {said}")
        seconds = time.monotonic() - began
        run_bytes = sum(path.stat().st_blocks * 512 for path in out.rglob("*") if path.is_file())
    rank_0, *others = (largest[pid] for pid in sorted(largest))
    return Usage(
        ranks,
        *rank_0,
        int(statistics.median(private for private, _ in others)),
        int(statistics.median(pss for _, pss in others)),
        run_bytes,
        seconds,
    )


def slope(points: Mapping[int, int]) -> float:
    """Returns the exponent p of the least-squares fit bytes = c * ranks^p."""
    x = [math.log(ranks) for ranks in points]
    y = [math.log(value) for value in points.values()]
    return statistics.linear_regression(x, y).slope


def marginal(usages: Sequence[Usage], member: str) -> float:
    """Returns the exponent between the two largest numbers of ranks after subtracting the bytes at the fewest
    ranks: the fixed part of every process would flatten a fit through all points."""
    fewest, before, last = usages[0], usages[-2], usages[-1]
    base = getattr(fewest, member)
    added = [max(1, getattr(one, member) - base) for one in (before, last)]
    return math.log(added[1] / added[0]) / math.log(last.ranks / before.ranks)


def megabytes(value: int) -> str:
    return f"{value / 1e6:.2f}"


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS), metavar="N")
    parser.add_argument("--pattern", default="aapc", help="(%(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything as JSON")
    args = parser.parse_args(words)
    machine = describe()
    print(sentence(machine), flush=True)
    usages = []
    try:
        for ranks in args.ranks:
            usages.append(measure(ranks, args.pattern))
            print(f"{ranks} ranks: {usages[-1].seconds:.1f} s", flush=True)
    except BenchmarkError as error:
        print(f"benchmarks.memory: {error}", file=sys.stderr)
        return 1
    head = (
        "ranks",
        "rank 0, private MB",
        "rank 0, PSS MB",
        "others, private MB",
        "others, PSS MB",
        "run MB",
        "s",
    )
    print_table(
        head,
        [
            (
                f"{one.ranks:,}",
                *map(megabytes, (one.rank_0_private_bytes, one.rank_0_pss_bytes)),
                *map(megabytes, (one.others_private_bytes, one.others_pss_bytes, one.run_bytes)),
                f"{one.seconds:.1f}",
            )
            for one in usages
        ],
    )
    exponents = {}
    if len(usages) > 2:
        for member in ("rank_0_private_bytes", "others_private_bytes"):
            through_all = slope({one.ranks: getattr(one, member) for one in usages})
            exponents[member] = {"all": through_all, "marginal": marginal(usages, member)}
            print(
                f"{member}: grows as ranks^{through_all:.2f} over all sizes; less the bytes at "
                f"{usages[0].ranks} ranks, as ranks^{exponents[member]['marginal']:.2f} between the last two"
            )
    write_json(
        args.out,
        {
            "machine": machine,
            "pattern": args.pattern,
            "usages": [asdict(one) for one in usages],
            "exponents": exponents,
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
