"""`python -m benchmarks.conducting`: what a session of many ranks costs rank 0, on `null`: the time until all
have joined, its peak memory, and its processor time for each phase, in all of its threads.

All ranks share this machine, so that the time of a phase says little; rank 0's processor time is its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.conditions import describe, print_table, sentence, write_json
from benchmarks.measuring import core
from benchmarks.memory import children
from benchmarks.processes import BenchmarkError, end
from crosscut.places.base import new_secret

RANKS = (64, 512, 2048, 4096)
PHASES = 20
TIMEOUT_SECONDS = 120
SIZE_BYTES = 1000


@dataclass(frozen=True)
class Conducting:
    ranks: int
    joined_seconds: float
    """From the start of the node's process until all ranks are ready."""
    joining_seconds: float
    """Processor time of rank 0 until then."""
    phase_seconds: float
    """Processor time of rank 0 for a phase of two repetitions."""
    wall_seconds: float
    """Wall time of a phase, with all ranks on this machine."""
    peak_bytes: int
    whole_seconds: float


def processor_seconds(pid: int) -> float:
    """Returns the processor time of all threads that have not ended (schedstat of each, proc(5))."""
    nanoseconds = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError):
            nanoseconds += int(thread.read_text().split()[0])
    return nanoseconds * 1e-9


def peak_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def rank_0(node: int) -> int:
    """Returns the rank that conducts, so the one with the most threads."""
    return max(children(node), key=lambda pid: len(list(Path(f"/proc/{pid}/task").iterdir())))


def measure(ranks: int, folder: str) -> Conducting:
    config: dict[str, object] = {"ranks": ranks, "secret": new_secret(), "backend": "null", "pin": False}
    job: dict[str, object] = {
        "pattern": "aapc",
        "backend": "null",
        "sizes": [SIZE_BYTES],
        "phases": [1, PHASES],
        "wait": "block",
    }
    job |= {"repetitions": 2, "warm_up": 0, "iterations": 1, "out": f"{folder}.zarr"}
    began = time.monotonic()
    node = subprocess.Popen(
        [core(), "node"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert node.stdin is not None
    assert node.stdout is not None

    def ask(line: object) -> None:
        assert node.stdin is not None
        node.stdin.write(json.dumps(line).encode() + b"\n")
        node.stdin.flush()

    marks: dict[str, tuple[float, float]] = {}
    pid, peak = 0, 0
    try:
        ask({**config, "timeout_seconds": TIMEOUT_SECONDS})
        for line in node.stdout:
            event = json.loads(line)
            word = event["event"]
            if word == "error":
                raise BenchmarkError(f"{ranks} ranks: {event['message']}")
            pid = pid or rank_0(node.pid)
            marks[word] = (time.monotonic(), processor_seconds(pid))
            if word == "ready":
                ask({"do": "run", "job": job})
            if word == "finished":
                peak = peak_bytes(pid)
                ask({"do": "end"})
        node.wait(TIMEOUT_SECONDS)
    finally:
        end(node)
    if "finished" not in marks:
        raise BenchmarkError(f"{ranks} ranks: the session ended early")
    wall, used = (b - a for a, b in zip(marks["started"], marks["finished"], strict=True))
    joined = marks["ready"][0] - began
    whole = time.monotonic() - began
    return Conducting(ranks, joined, marks["ready"][1], used / PHASES, wall / PHASES, peak, whole)


def row(one: Conducting) -> tuple[str, ...]:
    return (
        *(f"{one.ranks:,}", f"{one.joined_seconds:.1f}", f"{one.joining_seconds:.2f}"),
        f"{one.peak_bytes / 1e6:.1f}",
        *(f"{one.phase_seconds * 1e3:.2f}", f"{one.phase_seconds / one.ranks * 1e6:.2f}"),
        *(f"{one.wall_seconds * 1e3:.0f}", f"{one.whole_seconds:.1f}"),
    )


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conducting", description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="*", default=RANKS, metavar="N")
    parser.add_argument(
        "--repetitions", type=int, default=3, help="the one in the middle counts (%(default)s)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything as JSON")
    args = parser.parse_args(words)
    machine = describe()
    print(sentence(machine), flush=True)
    head = ("ranks", "joined s", "joining s", "rank 0 MB", "phase ms", "µs a rank", "phase, wall ms", "all s")
    measured, middle = [], []
    try:
        for ranks in args.ranks:
            with tempfile.TemporaryDirectory(prefix="crosscut-conducting-") as folder:
                mine = [measure(ranks, f"{folder}/{i}") for i in range(args.repetitions)]
            measured += mine
            middle.append(sorted(mine, key=lambda one: one.phase_seconds)[len(mine) // 2])
    except BenchmarkError as error:
        print(f"benchmarks.conducting: {error}", file=sys.stderr)
        return 1
    finally:
        print_table(head, [row(one) for one in middle])
        write_json(args.out, {"machine": machine, "measured": [asdict(one) for one in measured]})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
