"""sockperf, ping-pong over TCP with blocking calls. Its shortest message has 14 bytes, its own header.

It stamps each message and takes half of (received - sent), what it does between two messages left out. Of its
log of all messages: the mean of each third, the fastest of the three; as crosscut's 3 repetitions of n
iterations, in which the work between two messages is contained.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.processes import BenchmarkError, await_listener, free_port, output_of, pinned, running

MESSAGE_BYTES = 14
PARTS = 3
ITERATIONS = 8000
RUN_SECONDS = 1  # the least it takes; half of it is warming up and cooling down, and not in the log
TABLE_HEAD = "packet,"


def half_trip_seconds(log: Path) -> list[float]:
    """Times of every message, in order; the last column is in microseconds, already halved."""
    lines = iter(log.read_text().splitlines())
    for line in lines:
        if line.startswith(TABLE_HEAD):
            break
    try:
        return [float(line.rsplit(",", 1)[1]) * 1e-6 for line in lines if "," in line]
    except ValueError as error:
        raise BenchmarkError(f"{log}: this version of sockperf logs in another form: {error}") from error


def fastest_part(seconds: Sequence[float]) -> float:
    if len(seconds) < PARTS:
        raise BenchmarkError(f"sockperf logged {len(seconds)} messages, too few")
    return min(float(np.mean(part)) for part in np.array_split(np.asarray(seconds), PARTS))


def sockperf_seconds(cores: Sequence[int]) -> float:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="crosscut-sockperf-") as folder:
        log = Path(folder) / "messages.csv"
        where = ["--tcp", "-i", "127.0.0.1", "-p", str(port)]
        server = ["sockperf", "server", *where]
        client = ["sockperf", "ping-pong", *where, "-m", str(MESSAGE_BYTES), "-t", str(RUN_SECONDS)]
        with running(pinned(cores[1], server), patience_seconds=0) as process:
            await_listener(port, process)
            output_of([*pinned(cores[0], client), "--full-log", str(log)])
        return fastest_part(half_trip_seconds(log))
