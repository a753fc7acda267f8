"""`python -m benchmarks.scale`: many ranks on few cores: `aapc` over 64 TCP ranks with blocking waits, which
must complete and leave the machine usable; 512 ranks on `null`; and the time to start.

Meanwhile a watch sleeps for a millisecond at a time. How late it wakes is the delay that other programs on
the machine see.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.conditions import describe, print_table, sentence, write_json
from benchmarks.measuring import Session, core
from benchmarks.processes import BenchmarkError, output_of

NAP_SECONDS = 0.001


@dataclass(frozen=True)
class Cost:
    what: str
    ranks: int
    wall_seconds: float
    job_seconds: float
    cores_busy: float
    """Processor seconds of all ranks per second of wall time."""
    switches_per_second: float
    load_average: float
    late_median_seconds: float
    """How late the watch woke."""
    late_p99_seconds: float


class Watch:
    """Records how late naps of a millisecond end."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._over.is_set():
            before = time.monotonic()
            time.sleep(NAP_SECONDS)
            self.late.append(time.monotonic() - before - NAP_SECONDS)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def finished_seconds(output: str) -> float:
    """Returns the seconds in the event `finished`. Raises BenchmarkError if the job did not complete."""
    for line in output.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "finished" and event.get("state") == "complete":
            return float(event["elapsed"])
    raise BenchmarkError(f"the job did not complete: {' '.join(output.split())[-300:]}")


def measure(what: str, ranks: int, backend: str, job: dict[str, object], limit_seconds: float) -> Cost:
    session = Session((core(), "node"), ranks, backend, pin=True)
    with tempfile.TemporaryDirectory(prefix="crosscut-scale-") as folder, Watch() as watch:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        request = {**job, "backend": backend, "out": str(Path(folder) / "run.zarr")}
        output = output_of(session.command, session.requests(request), limit_seconds)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    # The node waits for its ranks, so their times are among its children's.
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    switches = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw
    late = statistics.quantiles(watch.late, n=100) if len(watch.late) > 1 else [0.0] * 99
    return Cost(
        *(what, ranks, wall, finished_seconds(output), busy / wall, switches / wall),
        *(os.getloadavg()[0], late[49], late[98]),
    )


def jobs(ranks: int, null_ranks: int, starts: list[int]) -> list[tuple[str, int, str, dict[str, object]]]:
    aapc: dict[str, object] = {"pattern": "aapc", "wait": "block"}
    start = {**aapc, "sizes": [1], "phases": [1, 1], "repetitions": 1, "warm_up": 0, "iterations": 1}
    return [
        ("aapc, 100 kB", ranks, "tcp", {**aapc, "sizes": [100_000], "repetitions": 5}),
        ("aapc, null", null_ranks, "null", {**aapc, "sizes": [100_000], "repetitions": 2}),
        *(("start, one phase", count, "tcp", start) for count in starts),
    ]


def row(cost: Cost) -> tuple[str, ...]:
    return (
        *(cost.what, str(cost.ranks), f"{cost.wall_seconds:.2f}", f"{cost.job_seconds:.2f}"),
        *(f"{cost.cores_busy:.2f}", f"{cost.switches_per_second:,.0f}", f"{cost.load_average:.1f}"),
        *(f"{cost.late_median_seconds * 1e3:.2f}", f"{cost.late_p99_seconds * 1e3:.2f}"),
    )


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--ranks", type=int, default=64, help="over TCP (%(default)s)")
    parser.add_argument("--null-ranks", type=int, default=512, help="(%(default)s)")
    parser.add_argument("--starts", type=int, nargs="*", default=[2, 8, 32, 128], metavar="N")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each (%(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything as JSON")
    args = parser.parse_args(words)
    machine = describe()
    print(sentence(machine), flush=True)
    head = ("what", "ranks", "wall s", "job s", "cores busy", "switches/s", "load", "late ms", "late p99 ms")
    costs = []
    try:
        for what, ranks, backend, job in jobs(args.ranks, args.null_ranks, args.starts):
            costs.append(measure(what, ranks, backend, job, args.limit))
    except BenchmarkError as error:
        print(f"benchmarks.scale: {error}", file=sys.stderr)
        return 1
    finally:
        print_table(head, [row(cost) for cost in costs])
        write_json(args.out, {"machine": machine, "costs": [asdict(cost) for cost in costs]})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
